// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace demo {

/// A text as numbers of its characters, cut into windows in which each character is predicted from
/// those before it. The last tenth is for tests.
class Text {
 public:
  static constexpr std::size_t window = 64;

  /// Throws std::runtime_error where the text is too short.
  explicit Text(const std::string& text);

  /// Different characters.
  std::size_t alphabet() const { return alphabet_; }
  std::size_t train_size() const { return train_; }
  std::size_t test_size() const { return test_; }
  /// The characters of a window, and one more: those from the second on are to be predicted.
  /// Windows for tests follow on the others.
  std::span<const std::uint8_t> characters(std::size_t index) const {
    return std::span(characters_).subspan(index * window, window + 1);
  }

 private:
  std::vector<std::uint8_t> characters_;
  std::size_t alphabet_ = 0, train_ = 0, test_ = 0;
};

/// The text of a file; of an empty path the King James Bible, as the program of Debian's package
/// bible-kjv prints it. Throws std::runtime_error that says what to do where there is none.
Text load_text(const std::filesystem::path& file);

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

namespace demo {
namespace {

std::string printed_bible() {
  struct Close {
    void operator()(FILE* pipe) const { pclose(pipe); }
  };
  const std::unique_ptr<FILE, Close> pipe(popen("bible -l79 gen1:1-rev22:21 2> /dev/null", "r"));
  std::string text;
  std::array<char, 65536> part;
  while (const std::size_t count = pipe ? std::fread(part.data(), 1, part.size(), pipe.get()) : 0)
    text.append(part.data(), count);
  if (text.empty())
    throw std::runtime_error(
        "the program bible prints nothing. Install it (apt-get install bible-kjv), or name a text "
        "file by --data.");
  return text;
}

}  // namespace

Text::Text(const std::string& text) {
  std::array<std::uint8_t, 256> number{};
  std::array<bool, 256> occurs{};
  for (const char c : text) occurs[static_cast<unsigned char>(c)] = true;
  for (std::size_t c = 0; c < 256; ++c)
    if (occurs[c]) number[c] = static_cast<std::uint8_t>(alphabet_++);
  characters_.reserve(text.size());
  for (const char c : text) characters_.push_back(number[static_cast<unsigned char>(c)]);
  // A look at half a thousand windows, some 30000 characters, is close enough to one at all.
  const std::size_t windows = text.empty() ? 0 : (text.size() - 1) / window;
  test_ = std::min<std::size_t>(windows / 10, 512);
  train_ = windows - windows / 10;
  if (test_ == 0)
    throw std::runtime_error(
        "a text of " + std::to_string(text.size()) +
        " characters is too short to learn from. Name a longer one by --data.");
}

Text load_text(const std::filesystem::path& file) {
  if (file.empty()) return Text(printed_bible());
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw std::runtime_error("cannot open " + file.string() +
                             ". Name a text file by --data, or leave it out for the Bible.");
  return Text(std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace demo

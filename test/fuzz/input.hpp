// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

namespace pactrain::test {

/// What the fuzzer thought of, read from the front; zeros when it is used up.
class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  template <class T>
  T take() {
    T value{};
    const std::size_t n = rest_.size() < sizeof(T) ? rest_.size() : sizeof(T);
    if (n != 0) std::memcpy(static_cast<void*>(&value), rest_.data(), n);
    rest_ = rest_.subspan(n);
    return value;
  }
  /// A number below `bound`.
  std::size_t below(std::size_t bound) { return take<std::uint16_t>() % bound; }

 private:
  std::span<const std::uint8_t> rest_;
};

/// Ends the program where the library breaks its word, so that the fuzzer keeps the input.
inline void must(bool holds, const char* law) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", law);
  std::abort();
}

}  // namespace pactrain::test

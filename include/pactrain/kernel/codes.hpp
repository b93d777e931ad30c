// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// The integer nearest to `x`, even on ties. Precondition: |x| is below 2^31.
template <class A>
PACTRAIN_FN constexpr int round_to_even(A x) {
  // By whole numbers, since compilers that may reorder sums would take x + shift - shift for x.
  const int whole = static_cast<int>(x);
  const A rest = x - static_cast<A>(whole);
  const int up = (rest > A(0.5) || (rest == A(0.5) && whole % 2 != 0)) ? 1 : 0;
  const int down = (rest < A(-0.5) || (rest == A(-0.5) && whole % 2 != 0)) ? 1 : 0;
  return whole + up - down;
}

/// The lowest `bits` bits of a code as a signed integer.
PACTRAIN_FN constexpr int sign_extended(std::uint32_t code, unsigned bits) {
  return static_cast<int>(code << (32 - bits)) >> (32 - bits);
}

/// Writes codes of up to 32 bits one behind the other, little end first: the first of two nibbles
/// is the low one. `finish` pads the last byte with zeros.
class CodeWriter {
 public:
  PACTRAIN_FN explicit CodeWriter(std::byte* out) : out_(out) {}
  PACTRAIN_FN void put(std::uint32_t code, unsigned bits) {
    held_ |= static_cast<std::uint64_t>(code) << count_;
    for (count_ += bits; count_ >= 8; count_ -= 8, held_ >>= 8) {
      *out_++ = static_cast<std::byte>(held_ & 0xff);
    }
  }
  PACTRAIN_FN void finish() {
    if (count_ > 0) *out_ = static_cast<std::byte>(held_ & 0xff);
  }

 private:
  std::byte* out_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};

/// Reads what a `CodeWriter` wrote, and no byte behind it.
class CodeReader {
 public:
  PACTRAIN_FN explicit CodeReader(const std::byte* in) : in_(in) {}
  PACTRAIN_FN std::uint32_t get(unsigned bits) {
    for (; count_ < bits; count_ += 8) {
      held_ |= static_cast<std::uint64_t>(*in_++) << count_;
    }
    const auto code = static_cast<std::uint32_t>(held_ & ((std::uint64_t{1} << bits) - 1));
    held_ >>= bits;
    count_ -= bits;
    return code;
  }

 private:
  const std::byte* in_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;
};

}  // namespace pactrain::kernel

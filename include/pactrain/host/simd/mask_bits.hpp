// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace pactrain::simd {

/// The bits of a mask from bit `first` on, read 64 at a time.
/// No word is read that holds none of the bits asked for.
class MaskBits {
 public:
  MaskBits(const std::uint64_t* words, std::size_t first)
      : words_(words + first / 64), shift_(static_cast<unsigned>(first % 64)) {}

  /// Bits `i` to `i + 63`; `i` is a multiple of 64.
  [[gnu::always_inline]] std::uint64_t full(std::size_t i) const {
    const std::uint64_t* word = words_ + i / 64;
    if (shift_ == 0) return word[0];
    return word[0] >> shift_ | word[1] << (64 - shift_);
  }

  /// Bits `i` to `i + count - 1`, zeros above them; `i` is a multiple of 64, `count` at most 64.
  std::uint64_t part(std::size_t i, std::size_t count) const {
    if (count == 0) return 0;
    const std::uint64_t* word = words_ + i / 64;
    std::uint64_t bits = word[0] >> shift_;
    if (shift_ + count > 64) bits |= word[1] << (64 - shift_);
    return bits & ~std::uint64_t{0} >> (64 - count);
  }

  /// The last multiple of 64 from which on the first `n` bits hold at least `kept` ones, or 0.
  std::size_t before_last(std::size_t n, int kept) const {
    std::size_t i = n / 64 * 64;
    kept -= std::popcount(part(i, n - i));
    while (i > 0 && kept > 0) {
      i -= 64;
      kept -= std::popcount(full(i));
    }
    return i;
  }

 private:
  const std::uint64_t* words_;
  unsigned shift_;
};

/// A run of mask words, looked at together to choose how to pack their entries.
struct MaskBlock {
  static constexpr std::size_t words = 64;
  static constexpr std::size_t entries = 64 * words;

  std::uint64_t word[words];

  /// Reads the block that starts at bit `i`, a multiple of 64; returns how many bits are set.
  [[gnu::always_inline]] std::size_t read(const MaskBits& bits, std::size_t i) {
    std::size_t kept = 0;
    for (std::size_t w = 0; w < words; ++w) {
      word[w] = bits.full(i + 64 * w);
      kept += static_cast<std::size_t>(std::popcount(word[w]));
    }
    return kept;
  }

  /// With fewer kept entries than this, most lines hold none, and touching only the others wins.
  template <class T>
  static constexpr std::size_t few = entries * sizeof(T) / 128;

  /// Packs a block with fewer than `few` entries one by one and touches only their lines; returns
  /// the slot behind them.
  template <class T>
  T* gather(const T* dense, T* packed) const {
    std::uint32_t index[few<T>];
    std::uint32_t* last = index;
    for (std::size_t w = 0; w < words; ++w) {
      for (std::uint64_t bits = word[w]; bits != 0; bits &= bits - 1) {
        *last =
            static_cast<std::uint32_t>(64 * w) + static_cast<std::uint32_t>(std::countr_zero(bits));
        // Found first, read later: the misses overlap, mispredicted branches do not stall them.
        __builtin_prefetch(dense + *last);
        ++last;
      }
    }
    for (const std::uint32_t* i = index; i != last; ++i) *packed++ = dense[*i];
    return packed;
  }
};

}  // namespace pactrain::simd

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd/mask_bits.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pactrain::simd {

/// How many magnitudes of a vector lie where in relation to two bars, `low <= high`.
struct BandCount {
  std::size_t above_high = 0;
  std::size_t at_high = 0;
  std::size_t between = 0;
  std::size_t at_low = 0;

  BandCount& operator+=(const BandCount& other) {
    above_high += other.above_high;
    at_high += other.at_high;
    between += other.between;
    at_low += other.at_low;
    return *this;
  }
};

/// Every bit of a value but its sign.
template <class T>
inline constexpr bits_t<T> magnitude_mask =
    static_cast<bits_t<T>>(static_cast<bits_t<T>>(~bits_t<T>{0}) >> 1);

/// The magnitude of a value in memory, as `magnitude()` gives it. By reference: under -ffast-math
/// clang takes for granted that no float passed by value is a NaN or an infinity.
template <GradientValue T>
bits_t<T> magnitude_at(const T& x) {
  return static_cast<bits_t<T>>(std::bit_cast<bits_t<T>>(x) & magnitude_mask<T>);
}

namespace portable {

/// The host kernels in plain C++: what every processor runs, and the oracle of the fast ones.
/// Words without a set bit are skipped, so that a sparse mask touches few lines.
struct Kernels {
  template <class T>
  static std::size_t compress(const std::uint64_t* words, std::size_t first, std::size_t n,
                              const T* dense, T* packed) {
    const MaskBits bits(words, first);
    T* slot = packed;
    for (std::size_t i = 0; i < n; i += 64) {
      const std::size_t count = std::min<std::size_t>(64, n - i);
      slot = compress_word(bits.part(i, count), dense + i, slot);
    }
    return static_cast<std::size_t>(slot - packed);
  }

  template <GradientValue T>
  static std::size_t compress(const std::uint64_t* words, std::size_t first, std::size_t n,
                              const T* dense, T* packed, bool& non_finite) {
    constexpr std::size_t block = 1024;  // scanned, then packed from the first-level cache
    std::size_t kept = 0;
    for (std::size_t i = 0; i < n; i += block) {
      const std::size_t count = std::min(block, n - i);
      if (!all_finite(dense + i, count)) non_finite = true;
      kept += compress(words, first + i, count, dense + i, packed + kept);
    }
    return kept;
  }

  template <class T>
  static std::size_t expand(const std::uint64_t* words, std::size_t first, std::size_t n,
                            const T* packed, T* dense) {
    const MaskBits bits(words, first);
    const T* slot = packed;
    for (std::size_t i = 0; i < n; i += 64) {
      const std::size_t count = std::min<std::size_t>(64, n - i);
      slot = expand_word(bits.part(i, count), count, slot, dense + i);
    }
    return static_cast<std::size_t>(slot - packed);
  }

  template <class T>
  static void clear_unkept(const std::uint64_t* words, std::size_t first, std::size_t n, T* dense) {
    const MaskBits bits(words, first);
    for (std::size_t i = 0; i < n; i += 64) {
      const std::size_t count = std::min<std::size_t>(64, n - i);
      clear_word(bits.part(i, count), count, dense + i);
    }
  }

  template <GradientValue T>
  static bool any_stray(const std::uint64_t* words, std::size_t first, std::size_t n, const T* x) {
    const MaskBits bits(words, first);
    for (std::size_t i = 0; i < n; i += 64) {
      const std::size_t count = std::min<std::size_t>(64, n - i);
      if (stray_word(bits.part(i, count), count, x + i)) return true;
    }
    return false;
  }

  template <GradientValue T>
  static bool all_finite(const T* x, std::size_t n) {
    bool finite = true;
    for (std::size_t i = 0; i < n; ++i) finite &= magnitude_at(x[i]) < exponent_mask<T>;
    return finite;
  }

  /// Counts magnitudes above, at and between two bars and writes those strictly between to `found`,
  /// which has room for `n` of them.
  template <class T>
  static BandCount band(const T* x, std::size_t n, bits_t<T> low, bits_t<T> high,
                        bits_t<T>* found) {
    BandCount count;
    for (std::size_t i = 0; i < n; ++i) {
      const bits_t<T> size = magnitude_at(x[i]);
      found[count.between] = size;
      count.above_high += size > high;
      count.at_high += size == high;
      count.at_low += size == low && low != high;
      count.between += size > low && size < high;
    }
    return count;
  }

  /// One word of `compress`; returns where the next entry goes.
  template <class T>
  static T* compress_word(std::uint64_t bits, const T* dense, T* packed) {
    for (; bits != 0; bits &= bits - 1) *packed++ = dense[std::countr_zero(bits)];
    return packed;
  }

  /// One word of `expand`, for its first `count` entries; returns where the next entry lies.
  template <class T>
  static const T* expand_word(std::uint64_t bits, std::size_t count, const T* packed, T* dense) {
    std::fill_n(dense, count, T{});
    for (; bits != 0; bits &= bits - 1) dense[std::countr_zero(bits)] = *packed++;
    return packed;
  }

  /// One word of `clear_unkept`, for its first `count` entries.
  template <class T>
  static void clear_word(std::uint64_t bits, std::size_t count, T* dense) {
    for (std::size_t b = 0; b < count; ++b) {
      if ((bits >> b & 1u) == 0) dense[b] = T{};
    }
  }

  /// One word of `any_stray`, for its first `count` entries.
  template <GradientValue T>
  static bool stray_word(std::uint64_t bits, std::size_t count, const T* x) {
    bool stray = false;
    for (std::size_t b = 0; b < count; ++b) {
      stray |= (bits >> b & 1u) == 0 && magnitude_at(x[b]) != 0;
    }
    return stray;
  }
};

}  // namespace portable
}  // namespace pactrain::simd

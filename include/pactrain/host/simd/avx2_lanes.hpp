// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pactrain::simd::avx2 {

/// For each mask of eight lanes, one byte per lane: which lane moves there.
using LaneOrders = std::array<std::uint64_t, 256>;

/// Orders that move the lanes of a mask to the front.
inline constexpr LaneOrders to_front = [] {
  LaneOrders orders{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    unsigned slot = 0;
    for (std::uint64_t lane = 0; lane < 8; ++lane) {
      if (mask >> lane & 1u) orders[mask] |= lane << 8 * slot++;
    }
  }
  return orders;
}();

/// Orders that move the first lanes to those of a mask; a negative byte marks the others.
inline constexpr LaneOrders from_front = [] {
  LaneOrders orders{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::uint64_t slot = 0;
    for (unsigned lane = 0; lane < 8; ++lane) {
      orders[mask] |= (mask >> lane & 1u ? slot++ : 0xffu) << 8 * lane;
    }
  }
  return orders;
}();

/// One AVX2 register of `Size`-byte values; two-byte values are widened to four-byte lanes.
template <std::size_t Size>
struct Lanes {
  static_assert(Size == 2 || Size == 4 || Size == 8, "lanes hold values of 2, 4 or 8 bytes");

  static constexpr std::size_t width = Size == 8 ? 4 : 8;
  static constexpr std::uint32_t all = (std::uint32_t{1} << width) - 1;

  [[gnu::target("avx2"), gnu::always_inline]]
  static inline __m256i load(const void* from) {
    if constexpr (Size == 2) {
      return _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from)));
    } else {
      return _mm256_loadu_si256(static_cast<const __m256i*>(from));
    }
  }

  [[gnu::target("avx2"), gnu::always_inline]]
  static inline void store(void* to, __m256i x) {
    if constexpr (Size == 2) _mm_storeu_si128(static_cast<__m128i*>(to), narrow(x));
    else _mm256_storeu_si256(static_cast<__m256i*>(to), x);
  }

  /// Stores past the caches; `to` is aligned to the vector.
  [[gnu::target("avx2"), gnu::always_inline]]
  static inline void stream(void* to, __m256i x) {
    if constexpr (Size == 2) _mm_stream_si128(static_cast<__m128i*>(to), narrow(x));
    else _mm256_stream_si256(static_cast<__m256i*>(to), x);
  }

  [[gnu::target("avx2"), gnu::always_inline]]
  static inline __m256i fill(std::uint64_t value) {
    if constexpr (Size == 8) return _mm256_set1_epi64x(static_cast<long long>(value));
    else return _mm256_set1_epi32(static_cast<int>(value));
  }

  /// Moves the lanes of `mask` to the front; what the lanes behind them hold is of no use.
  [[gnu::target("avx2"), gnu::always_inline]]
  static inline __m256i compress(std::uint32_t mask, __m256i x) {
    return _mm256_permutevar8x32_epi32(x, order(to_front[mask]));
  }

  /// Moves the first lanes to those of `mask`, and zero to the others.
  [[gnu::target("avx2"), gnu::always_inline]]
  static inline __m256i expand(std::uint32_t mask, __m256i x) {
    const __m256i lanes = order(from_front[mask]);
    return _mm256_andnot_si256(_mm256_srai_epi32(lanes, 31), _mm256_permutevar8x32_epi32(x, lanes));
  }

  /// Sets the lanes of `mask` to zero.
  [[gnu::target("avx2"), gnu::always_inline]]
  static inline __m256i clear(std::uint32_t mask, __m256i x) {
    const __m256i lanes = order(from_front[mask]);
    return _mm256_and_si256(_mm256_srai_epi32(lanes, 31), x);
  }

  [[gnu::target("avx2"), gnu::always_inline]]
  static inline std::uint32_t equal(__m256i a, __m256i b) {
    if constexpr (Size == 8) return signs(_mm256_cmpeq_epi64(a, b));
    else return signs(_mm256_cmpeq_epi32(a, b));
  }

  /// Which lanes of `a` are greater; both hold magnitudes, which have no sign bit.
  [[gnu::target("avx2"), gnu::always_inline]]
  static inline std::uint32_t greater(__m256i a, __m256i b) {
    if constexpr (Size == 8) return signs(_mm256_cmpgt_epi64(a, b));
    else return signs(_mm256_cmpgt_epi32(a, b));
  }

  [[gnu::target("avx2"), gnu::always_inline]]
  static inline __m256i both(__m256i a, __m256i b) {
    return _mm256_and_si256(a, b);
  }

 private:
  [[gnu::target("avx2"), gnu::always_inline]]
  static inline __m256i order(std::uint64_t bytes) {
    const __m128i lanes = _mm_cvtsi64_si128(std::bit_cast<std::int64_t>(bytes));
    if constexpr (Size == 8) {
      // Each lane of eight bytes is a pair of four-byte lanes: 2 i and 2 i + 1.
      const __m256i twice = _mm256_slli_epi32(_mm256_cvtepi8_epi64(lanes), 1);
      const __m256i pair = _mm256_shuffle_epi32(twice, 0xa0);
      return _mm256_or_si256(pair, _mm256_set1_epi64x(std::int64_t{1} << 32));
    } else {
      return _mm256_cvtepi8_epi32(lanes);
    }
  }

  [[gnu::target("avx2"), gnu::always_inline]]
  static inline std::uint32_t signs(__m256i x) {
    if constexpr (Size == 8) {
      return static_cast<std::uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(x)));
    } else {
      return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(x)));
    }
  }

  [[gnu::target("avx2"), gnu::always_inline]]
  static inline __m128i narrow(__m256i x) {
    const __m256i halves = _mm256_packus_epi32(x, x);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(halves, 0x08));
  }
};

}  // namespace pactrain::simd::avx2

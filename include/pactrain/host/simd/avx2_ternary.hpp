// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd/avx2_casts.hpp>
#include <pactrain/host/simd/memory.hpp>
#include <pactrain/kernel/ternary.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pactrain::simd::avx2 {

/// Ternary digits and what they are drawn from. `digits` and `add_digits` do the first values, as
/// many as they return; the others do all. Written as its twin in avx512_ternary.hpp.
struct Digits : Casts {
  [[gnu::target("avx2,popcnt")]]
  static kernel::Spread spread(const float* x, std::size_t n, bool with_squares) {
    kernel::Spread result{static_cast<double>(bits_as<float>(largest<true>(x, n))), 0.0};
    if (!with_squares) return result;
    __m256d sums[4] = {};
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const __m256 a = finite_or_zero(x + i), b = finite_or_zero(x + i + 8);
      sums[0] = _mm256_add_pd(sums[0], _mm256_mul_pd(lower(a), lower(a)));  // exact products
      sums[1] = _mm256_add_pd(sums[1], _mm256_mul_pd(upper(a), upper(a)));
      sums[2] = _mm256_add_pd(sums[2], _mm256_mul_pd(lower(b), lower(b)));
      sums[3] = _mm256_add_pd(sums[3], _mm256_mul_pd(upper(b), upper(b)));
    }
    double lanes[kernel::square_lanes];
    for (std::size_t q = 0; q < 4; ++q) _mm256_storeu_pd(lanes + 4 * q, sums[q]);
    kernel::add_squares(x, i, n, lanes);
    result.squares = kernel::total_of(lanes);
    return result;
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t digits(const float* x, float scale, const float* u, std::size_t n,
                            std::int8_t* out) {
    const __m256 scales = _mm256_set1_ps(scale);
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
      store_bytes(out + i, digits_of(x + i, u + i, scales), digits_of(x + i + 8, u + i + 8, scales),
                  digits_of(x + i + 16, u + i + 16, scales),
                  digits_of(x + i + 24, u + i + 24, scales));
    }
    return i;
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t add_digits(const std::int8_t* digits, float scale, std::size_t n, float* to) {
    const __m256 scales = _mm256_set1_ps(scale);
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) add_to(to + i, _mm256_mul_ps(load_bytes(digits + i), scales));
    return i;
  }

  /// The numbers of `uniforms`, of `count` groups; up to seven groups more are written.
  [[gnu::target("avx2,popcnt")]]
  static void uniforms(Random random, std::size_t part, std::size_t group, std::size_t count,
                       float* u) {
    const __m256i order = _mm256_setr_epi64x(0, 2, 1, 3);
    for (std::size_t g = 0; g < count; g += 2) {
      const auto block = static_cast<long long>(4 * (group + g));
      Words a(random, part, _mm256_add_epi64(_mm256_set1_epi64x(block), order));
      Words b(random, part, _mm256_add_epi64(_mm256_set1_epi64x(block + 4), order));
      const std::uint64_t key = key_of(random);
      std::uint32_t k0 = static_cast<std::uint32_t>(key),
                    k1 = static_cast<std::uint32_t>(key >> 32);
      for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
        a.turn(key0, key1);
        b.turn(key0, key1);
      }
      a.store(u + 16 * g);
      b.store(u + 16 * g + 16);
    }
  }

 protected:
  /// Four counters of Philox, a word of each in the low half of a lane. High halves are left to
  /// themselves: products do not look at them.
  struct Words {
    __m256i c0, c1, c2, c3;
    [[gnu::target("avx2,popcnt"), gnu::always_inline]]
    inline Words(Random random, std::size_t part, __m256i blocks)
        : c0(blocks),
          c1(_mm256_srli_epi64(blocks, 32)),
          c2(_mm256_set1_epi64x(static_cast<std::uint32_t>(part))),
          c3(_mm256_set1_epi64x(static_cast<std::uint32_t>(random.step))) {}
    [[gnu::target("avx2,popcnt"), gnu::always_inline]]
    inline void turn(__m256i k0, __m256i k1) {
      const __m256i a = _mm256_mul_epu32(c0, _mm256_set1_epi64x(0xD2511F53u));
      const __m256i b = _mm256_mul_epu32(c2, _mm256_set1_epi64x(0xCD9E8D57u));
      c0 = _mm256_xor_si256(_mm256_srli_epi64(b, 32), _mm256_xor_si256(c1, k0));
      c2 = _mm256_xor_si256(_mm256_srli_epi64(a, 32), _mm256_xor_si256(c3, k1));
      c1 = b;
      c3 = a;
    }
    [[gnu::target("avx2,popcnt"), gnu::always_inline]]
    inline void store(float* u) const {
      const __m256i low = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xaa);
      const __m256i high = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xaa);
      store(u, _mm256_unpacklo_epi64(low, high));
      store(u + 8, _mm256_unpackhi_epi64(low, high));
    }
    [[gnu::target("avx2,popcnt"), gnu::always_inline]]
    static inline void store(float* u, __m256i words) {
      const __m256 whole = _mm256_cvtepi32_ps(_mm256_srli_epi32(words, 8));
      _mm256_storeu_ps(u, _mm256_mul_ps(whole, _mm256_set1_ps(0x1p-24f)));
    }
  };
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256 finite_or_zero(const float* x) {
    const __m256 value = _mm256_loadu_ps(x);
    const __m256i size = magnitudes(_mm256_castps_si256(value));
    const __m256i finite = _mm256_cmpgt_epi32(fill(0x7f800000), size);
    return _mm256_and_ps(value, _mm256_castsi256_ps(finite));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256i digits_of(const float* x, const float* u, __m256 scales) {
    prefetch_ahead(x);
    const __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(x)), size = magnitudes(bits);
    const __m256 chance = _mm256_div_ps(_mm256_castsi256_ps(size), scales);
    const __m256 hit = _mm256_cmp_ps(_mm256_loadu_ps(u), chance, _CMP_LT_OQ);
    const __m256i finite = _mm256_cmpgt_epi32(fill(0x7f800000), size);
    const __m256i sign = _mm256_or_si256(_mm256_srai_epi32(bits, 31), fill(1));
    return _mm256_and_si256(sign, _mm256_and_si256(finite, _mm256_castps_si256(hit)));
  }
};

}  // namespace pactrain::simd::avx2

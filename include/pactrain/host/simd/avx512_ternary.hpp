// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd/avx512_casts.hpp>
#include <pactrain/host/simd/memory.hpp>
#include <pactrain/kernel/ternary.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pactrain::simd::avx512 {

/// Ternary digits and what they are drawn from. `digits` and `add_digits` do the first values, as
/// many as they return; the others do all. Written as its twin in avx2_ternary.hpp.
struct Digits : Casts {
  [[gnu::target("avx512bw,avx512vl")]]
  static kernel::Spread spread(const float* x, std::size_t n, bool with_squares) {
    kernel::Spread result{static_cast<double>(bits_as<float>(largest<true>(x, n))), 0.0};
    if (!with_squares) return result;
    __m512d low = _mm512_setzero_pd(), high = low;
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const __m512 value = _mm512_loadu_ps(x + i);
      const __m512i size = magnitudes(_mm512_castps_si512(value));
      const __mmask16 finite = _mm512_cmplt_epu32_mask(size, fill(0x7f800000));
      const __m512 counted = _mm512_maskz_mov_ps(finite, value);
      const __m512d a = lower(counted), b = upper(counted);
      low = _mm512_add_pd(low, _mm512_mul_pd(a, a));  // exact products
      high = _mm512_add_pd(high, _mm512_mul_pd(b, b));
    }
    double lanes[kernel::square_lanes];
    _mm512_storeu_pd(lanes, low);
    _mm512_storeu_pd(lanes + 8, high);
    kernel::add_squares(x, i, n, lanes);
    result.squares = kernel::total_of(lanes);
    return result;
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t digits(const float* x, float scale, const float* u, std::size_t n,
                            std::int8_t* out) {
    const __m512 scales = _mm512_set1_ps(scale);
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      prefetch_ahead(x + i);
      const __m512i bits = _mm512_loadu_si512(x + i), size = magnitudes(bits);
      const __m512 chance = _mm512_div_ps(_mm512_castsi512_ps(size), scales);
      const __mmask16 finite = _mm512_cmplt_epu32_mask(size, fill(0x7f800000));
      const __mmask16 hit =
          _mm512_mask_cmp_ps_mask(finite, _mm512_loadu_ps(u + i), chance, _CMP_LT_OQ);
      const __m512i sign = _mm512_or_si512(_mm512_maskz_srai_epi32(all, bits, 31), fill(1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm512_maskz_cvtepi32_epi8(hit, sign));
    }
    return i;
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t add_digits(const std::int8_t* digits, float scale, std::size_t n, float* to) {
    const __m512 scales = _mm512_set1_ps(scale);
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      add_to(to + i, product(load_bytes(digits + i), scales));
    }
    return i;
  }

  /// The numbers of `uniforms`, of `count` groups; up to seven groups more are written.
  [[gnu::target("avx512bw,avx512vl")]]
  static void uniforms(Random random, std::size_t part, std::size_t group, std::size_t count,
                       float* u) {
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    for (std::size_t g = 0; g < count; g += 8) {
      const auto block = static_cast<long long>(4 * (group + g));
      Words a(random, part, _mm512_add_epi64(_mm512_set1_epi64(block), order));
      Words b(random, part, _mm512_add_epi64(_mm512_set1_epi64(block + 8), order));
      Words c(random, part, _mm512_add_epi64(_mm512_set1_epi64(block + 16), order));
      Words d(random, part, _mm512_add_epi64(_mm512_set1_epi64(block + 24), order));
      const std::uint64_t key = key_of(random);
      std::uint32_t k0 = static_cast<std::uint32_t>(key),
                    k1 = static_cast<std::uint32_t>(key >> 32);
      for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const __m512i key0 = _mm512_set1_epi64(k0), key1 = _mm512_set1_epi64(k1);
        a.turn(key0, key1);
        b.turn(key0, key1);
        c.turn(key0, key1);
        d.turn(key0, key1);
      }
      a.store(u + 16 * g);
      b.store(u + 16 * g + 32);
      c.store(u + 16 * g + 64);
      d.store(u + 16 * g + 96);
    }
  }

 protected:
  /// Eight counters of Philox, a word of each in the low half of a lane. High halves are left to
  /// themselves: products do not look at them.
  struct Words {
    __m512i c0, c1, c2, c3;
    [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
    inline Words(Random random, std::size_t part, __m512i blocks)
        : c0(blocks),
          c1(_mm512_maskz_srli_epi64(0xff, blocks, 32)),
          c2(_mm512_set1_epi64(static_cast<std::uint32_t>(part))),
          c3(_mm512_set1_epi64(static_cast<std::uint32_t>(random.step))) {}
    [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
    inline void turn(__m512i k0, __m512i k1) {
      const __m512i a = _mm512_maskz_mul_epu32(0xff, c0, _mm512_set1_epi64(0xD2511F53u));
      const __m512i b = _mm512_maskz_mul_epu32(0xff, c2, _mm512_set1_epi64(0xCD9E8D57u));
      constexpr int odd = 0x96;  // exclusive or of three
      c0 = _mm512_ternarylogic_epi64(_mm512_maskz_srli_epi64(0xff, b, 32), c1, k0, odd);
      c2 = _mm512_ternarylogic_epi64(_mm512_maskz_srli_epi64(0xff, a, 32), c3, k1, odd);
      c1 = b;
      c3 = a;
    }
    [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
    inline void store(float* u) const {
      const __m512i low =
          _mm512_mask_blend_epi32(0xaaaa, c0, _mm512_maskz_slli_epi64(0xff, c1, 32));
      const __m512i high =
          _mm512_mask_blend_epi32(0xaaaa, c2, _mm512_maskz_slli_epi64(0xff, c3, 32));
      store(u, _mm512_maskz_unpacklo_epi64(0xff, low, high));
      store(u + 16, _mm512_maskz_unpackhi_epi64(0xff, low, high));
    }
    [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
    static inline void store(float* u, __m512i words) {
      const __m512 whole = _mm512_maskz_cvtepi32_ps(all, _mm512_maskz_srli_epi32(all, words, 8));
      _mm512_storeu_ps(u, _mm512_mul_ps(whole, _mm512_set1_ps(0x1p-24f)));
    }
  };
};

}  // namespace pactrain::simd::avx512

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/host/simd/avx512_ternary.hpp>
#include <pactrain/host/simd/memory.hpp>
#include <pactrain/kernel/quantise_rules.hpp>
#include <pactrain/kernel/units.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pactrain::simd::avx512 {

/// What codecs do with runs of floats, for processors with AVX-512 F, BW and VL: bit for bit what
/// the kernels of `kernel/` do. `encode` and `decode` do the first values, as many as they return:
/// a multiple of 8. Written as its twin in avx2_codes.hpp. Products that are added to are rounded
/// by name, lest compilers fuse them.
struct Codes : Digits {
  [[gnu::target("avx512bw,avx512vl")]]
  static kernel::LargestMagnitude::Moments<float> measure(const kernel::LargestMagnitude&,
                                                          const float* x, std::size_t n) {
    return {largest<false>(x, n)};
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static kernel::SignRule::Moments<float> measure(const kernel::SignRule& rule, const float* x,
                                                  std::size_t n) {
    kernel::SignRule::Sums sums;
    const __m512 zero = _mm512_setzero_ps();
    __m512d sum = _mm512_setzero_pd(), negative_sum = sum;
    __mmask16 bad = 0;
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      prefetch_ahead(x + i);
      const __m512 value = _mm512_loadu_ps(x + i);
      const __m512i size = magnitudes(_mm512_castps_si512(value));
      bad = static_cast<__mmask16>(bad | _mm512_cmpge_epu32_mask(size, fill(0x7f800000)));
      const __mmask16 below = _mm512_cmp_ps_mask(value, zero, _CMP_LT_OQ);
      sums.negative += ones(below);
      sums.zero += ones(_mm512_testn_epi32_mask(size, size));
      __m512 above_sizes = _mm512_castsi512_ps(size);
      if (rule.two_means) {
        const auto not_below = static_cast<__mmask16>(~below);
        const __m512 below_sizes = _mm512_maskz_mov_ps(below, above_sizes);
        above_sizes = _mm512_maskz_mov_ps(not_below, above_sizes);
        negative_sum = _mm512_add_pd(negative_sum, lower(below_sizes));
        negative_sum = _mm512_add_pd(negative_sum, upper(below_sizes));
      }
      sum = _mm512_add_pd(sum, lower(above_sizes));
      sum = _mm512_add_pd(sum, upper(above_sizes));
    }
    _mm512_storeu_pd(sums.sum, sum);
    _mm512_storeu_pd(sums.negative_sum, negative_sum);
    sums.finite = bad == 0;
    rule.add(sums, x, i, n);
    return kernel::SignRule::total<float>(sums);
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t decode(const kernel::Int8Rule&, const std::byte* in, std::size_t n,
                            const float* numbers, float* to) {
    const __m512 largest = _mm512_set1_ps(numbers[0]), most = _mm512_set1_ps(127.0f);
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const __m512 share = _mm512_div_ps(load_bytes(in + i), most);
      add_to(to + i, product(share, largest));
    }
    return i;
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t decode(const kernel::Int4Rule& rule, const std::byte* in, std::size_t n,
                            const float* numbers, float* to) {
    alignas(64) float values[16];
    for (std::uint32_t code = 0; code < 16; ++code) values[code] = rule.value<float>(code, numbers);
    const __m512 table = _mm512_load_ps(values);
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + i / 2));
      const __m512i bytes = _mm512_maskz_cvtepu8_epi64(0xff, packed);
      // A lane's low half ends in the low nibble, its high half in the high one.
      const __m512i codes = _mm512_or_si512(bytes, _mm512_maskz_slli_epi64(0xff, bytes, 28));
      add_to(to + i, _mm512_maskz_permutexvar_ps(all, codes, table));
    }
    return i;
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t encode(const kernel::SignRule& rule, const float* x, std::size_t n,
                            const float*, std::byte* out) {
    if (rule.zeros) return 0;
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const __mmask16 below =
          _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i), _mm512_setzero_ps(), _CMP_LT_OQ);
      std::memcpy(out + i / 8, &below, sizeof below);
    }
    return i;
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t decode(const kernel::SignRule& rule, const std::byte* in, std::size_t n,
                            const float* numbers, float* to) {
    if (rule.zeros) return 0;
    const __m512 above = _mm512_set1_ps(rule.value<float>(0, numbers));
    const __m512 below = _mm512_set1_ps(rule.value<float>(1, numbers));
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      __mmask16 bits;
      std::memcpy(&bits, in + i / 8, sizeof bits);
      add_to(to + i, _mm512_mask_blend_ps(bits, above, below));
    }
    return i;
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t encode(const kernel::Int8Rule&, const float* x, std::size_t n,
                            const float* numbers, std::byte* out) {
    if (!(numbers[0] > 0.0f)) return zeros(n, n, out);
    const __m512 largest = _mm512_set1_ps(numbers[0]), most = _mm512_set1_ps(127.0f);
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const __m512 share = _mm512_div_ps(_mm512_loadu_ps(x + i), largest);
      const __m512i code = rounded(_mm512_mul_ps(share, most));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm512_maskz_cvtepi32_epi8(all, code));
    }
    return i;
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t encode(const kernel::Int4Rule& rule, const float* x, std::size_t n,
                            const float* numbers, std::byte* out) {
    const bool fixed = rule.scale > 0;
    if (!fixed && !(numbers[0] > 0.0f)) return zeros(n, kernel::code_bytes(n, 4), out);
    const __m512 scale = _mm512_set1_ps(fixed ? static_cast<float>(rule.scale) : 8.0f);
    const __m512 largest = _mm512_set1_ps(numbers[0]);
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
      const __m128i low = nibbles(x + i, fixed, largest, scale);
      const __m128i high = nibbles(x + i + 16, fixed, largest, scale);
      // Neighbours a, b become a + 16 b.
      const __m256i bytes =
          _mm256_maddubs_epi16(_mm256_set_m128i(high, low), _mm256_set1_epi16(0x1001));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i / 2),
                       _mm256_maskz_cvtepi16_epi8(all, bytes));
    }
    return i;
  }

 protected:
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m128i nibbles(const float* x, bool fixed, __m512 largest, __m512 scale) {
    const __m512 value = _mm512_loadu_ps(x);
    const __m512i size = magnitudes(_mm512_castps_si512(value));
    const __mmask16 finite = _mm512_cmplt_epu32_mask(size, fill(0x7f800000));
    const __m512 share = fixed ? value : _mm512_div_ps(value, largest);
    const __m512 steps = _mm512_maskz_mul_ps(finite, share, scale);
    const __m512 below = _mm512_maskz_min_ps(all, steps, _mm512_set1_ps(7.0f));
    const __m512 cut = _mm512_maskz_max_ps(all, below, _mm512_set1_ps(-8.0f));
    return _mm512_maskz_cvtepi32_epi8(all, _mm512_and_si512(rounded(cut), fill(15)));
  }
  static std::size_t zeros(std::size_t n, std::size_t bytes, std::byte* out) {
    std::memset(out, 0, bytes);
    return n;
  }
};

}  // namespace pactrain::simd::avx512

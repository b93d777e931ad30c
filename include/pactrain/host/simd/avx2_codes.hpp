// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/host/simd/avx2_ternary.hpp>
#include <pactrain/host/simd/memory.hpp>
#include <pactrain/kernel/quantise_rules.hpp>
#include <pactrain/kernel/units.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pactrain::simd::avx2 {

/// What codecs do with runs of floats, for processors with AVX2: bit for bit what the
/// kernels of `kernel/` do. `encode` and `decode` do the first values, as many as they return: a
/// multiple of 8. Written as its twin in avx512_codes.hpp.
struct Codes : Digits {
  [[gnu::target("avx2,popcnt")]]
  static kernel::LargestMagnitude::Moments<float> measure(const kernel::LargestMagnitude&,
                                                          const float* x, std::size_t n) {
    return {largest<false>(x, n)};
  }

  [[gnu::target("avx2,popcnt")]]
  static kernel::SignRule::Moments<float> measure(const kernel::SignRule& rule, const float* x,
                                                  std::size_t n) {
    kernel::SignRule::Sums sums;
    const __m256 zero = _mm256_setzero_ps();
    __m256d sum[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
    __m256d negative_sum[2] = {sum[0], sum[1]};
    __m256i bad = _mm256_setzero_si256();
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      prefetch_ahead(x + i);
      const __m256 value = _mm256_loadu_ps(x + i);
      const __m256i size = magnitudes(_mm256_castps_si256(value));
      bad = _mm256_or_si256(bad, _mm256_cmpgt_epi32(size, fill(0x7f7fffff)));
      const __m256 below = _mm256_cmp_ps(value, zero, _CMP_LT_OQ);
      const __m256i none = _mm256_cmpeq_epi32(size, _mm256_setzero_si256());
      sums.negative += ones(below);
      sums.zero += ones(_mm256_castsi256_ps(none));
      __m256 above_sizes = _mm256_castsi256_ps(size);
      if (rule.two_means) {
        const __m256 below_sizes = _mm256_and_ps(below, above_sizes);
        above_sizes = _mm256_andnot_ps(below, above_sizes);
        negative_sum[0] = _mm256_add_pd(negative_sum[0], lower(below_sizes));
        negative_sum[1] = _mm256_add_pd(negative_sum[1], upper(below_sizes));
      }
      sum[0] = _mm256_add_pd(sum[0], lower(above_sizes));
      sum[1] = _mm256_add_pd(sum[1], upper(above_sizes));
    }
    for (std::size_t half = 0; half < 2; ++half) {
      _mm256_storeu_pd(sums.sum + 4 * half, sum[half]);
      _mm256_storeu_pd(sums.negative_sum + 4 * half, negative_sum[half]);
    }
    sums.finite = _mm256_testz_si256(bad, bad) != 0;
    rule.add(sums, x, i, n);
    return kernel::SignRule::total<float>(sums);
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t decode(const kernel::Int8Rule&, const std::byte* in, std::size_t n,
                            const float* numbers, float* to) {
    const __m256 largest = _mm256_set1_ps(numbers[0]), most = _mm256_set1_ps(127.0f);
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      add_to(to + i, _mm256_mul_ps(_mm256_div_ps(load_bytes(in + i), most), largest));
    }
    return i;
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t decode(const kernel::Int4Rule& rule, const std::byte* in, std::size_t n,
                            const float* numbers, float* to) {
    alignas(32) float values[16];
    for (std::uint32_t code = 0; code < 16; ++code) values[code] = rule.value<float>(code, numbers);
    const __m256 low = _mm256_load_ps(values), high = _mm256_load_ps(values + 8);
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      int packed;
      std::memcpy(&packed, in + i / 2, sizeof packed);
      const __m256i bytes = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(packed));
      // A lane's low half ends in the low nibble, its high half in the high one.
      const __m256i codes = _mm256_or_si256(bytes, _mm256_slli_epi64(bytes, 28));
      const __m256 upper_half = _mm256_castsi256_ps(_mm256_slli_epi32(codes, 28));
      add_to(to + i, _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, codes),
                                      _mm256_permutevar8x32_ps(high, codes), upper_half));
    }
    return i;
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t encode(const kernel::SignRule& rule, const float* x, std::size_t n,
                            const float*, std::byte* out) {
    if (rule.zeros) return 0;
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      const __m256 below = _mm256_cmp_ps(_mm256_loadu_ps(x + i), _mm256_setzero_ps(), _CMP_LT_OQ);
      out[i / 8] = static_cast<std::byte>(_mm256_movemask_ps(below));
    }
    return i;
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t decode(const kernel::SignRule& rule, const std::byte* in, std::size_t n,
                            const float* numbers, float* to) {
    if (rule.zeros) return 0;
    const __m256 above = _mm256_set1_ps(rule.value<float>(0, numbers));
    const __m256 below = _mm256_set1_ps(rule.value<float>(1, numbers));
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      const __m256i bits = _mm256_and_si256(fill(static_cast<std::uint32_t>(in[i / 8])), bit);
      const __m256 is_below = _mm256_castsi256_ps(_mm256_cmpeq_epi32(bits, bit));
      add_to(to + i, _mm256_blendv_ps(above, below, is_below));
    }
    return i;
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t encode(const kernel::Int8Rule&, const float* x, std::size_t n,
                            const float* numbers, std::byte* out) {
    if (!(numbers[0] > 0.0f)) return zeros(n, n, out);
    const __m256 largest = _mm256_set1_ps(numbers[0]);
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
      store_bytes(out + i, int8_codes(x + i, largest), int8_codes(x + i + 8, largest),
                  int8_codes(x + i + 16, largest), int8_codes(x + i + 24, largest));
    }
    return i;
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t encode(const kernel::Int4Rule& rule, const float* x, std::size_t n,
                            const float* numbers, std::byte* out) {
    const bool fixed = rule.scale > 0;
    if (!fixed && !(numbers[0] > 0.0f)) return zeros(n, kernel::code_bytes(n, 4), out);
    const __m256 scale = _mm256_set1_ps(fixed ? static_cast<float>(rule.scale) : 8.0f);
    const __m256 largest = _mm256_set1_ps(numbers[0]);
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
      const __m256i codes = bytes_of(int4_codes(x + i, fixed, largest, scale),
                                     int4_codes(x + i + 8, fixed, largest, scale),
                                     int4_codes(x + i + 16, fixed, largest, scale),
                                     int4_codes(x + i + 24, fixed, largest, scale));
      // Neighbours a, b become a + 16 b.
      const __m256i pairs = _mm256_maddubs_epi16(codes, _mm256_set1_epi16(0x1001));
      const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(pairs, pairs), 0x08);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i / 2), _mm256_castsi256_si128(packed));
    }
    return i;
  }

 protected:
  static std::size_t zeros(std::size_t n, std::size_t bytes, std::byte* out) {
    std::memset(out, 0, bytes);
    return n;
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256i int8_codes(const float* x, __m256 largest) {
    const __m256 share = _mm256_div_ps(_mm256_loadu_ps(x), largest);
    return rounded(_mm256_mul_ps(share, _mm256_set1_ps(127.0f)));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256i int4_codes(const float* x, bool fixed, __m256 largest, __m256 scale) {
    const __m256 value = _mm256_loadu_ps(x);
    const __m256i size = magnitudes(_mm256_castps_si256(value));
    const __m256i finite = _mm256_cmpgt_epi32(fill(0x7f800000), size);
    const __m256 share = fixed ? value : _mm256_div_ps(value, largest);
    const __m256 steps = _mm256_and_ps(_mm256_mul_ps(share, scale), _mm256_castsi256_ps(finite));
    const __m256 below = _mm256_min_ps(steps, _mm256_set1_ps(7.0f));
    const __m256 cut = _mm256_max_ps(below, _mm256_set1_ps(-8.0f));
    return _mm256_and_si256(rounded(cut), fill(15));
  }
};

}  // namespace pactrain::simd::avx2

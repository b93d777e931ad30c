// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/host/simd/memory.hpp>
#include <pactrain/kernel/units.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pactrain::simd::avx512 {

/// What kernels of codecs do with a register of floats, on processors with AVX-512 F, BW and VL.
struct Floats {
 protected:
  static constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  static constexpr __mmask16 all = 0xffff;
  template <bool only_finite>
  [[gnu::target("avx512bw,avx512vl")]]
  static std::uint32_t largest(const float* x, std::size_t n) {
    __m512i most = _mm512_setzero_si512();
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      prefetch_ahead(x + i);
      const __m512i size = magnitudes(_mm512_loadu_si512(x + i));
      const __mmask16 counted = only_finite ? _mm512_cmplt_epu32_mask(size, fill(0x7f800000)) : all;
      most = _mm512_mask_max_epu32(most, counted, most, size);
    }
    std::uint32_t lanes[16], found = kernel::largest_magnitude<only_finite>(x + i, n - i);
    _mm512_storeu_si512(lanes, most);
    for (const std::uint32_t lane : lanes) found = found < lane ? lane : found;
    return found;
  }
  static std::size_t ones(__mmask16 mask) {
    return static_cast<std::size_t>(__builtin_popcount(mask_word(mask)));
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i fill(std::uint32_t value) {
    return _mm512_set1_epi32(static_cast<int>(value));
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i magnitudes(__m512i bits) {
    return _mm512_and_si512(bits, fill(0x7fffffff));
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __mmask16 is_nan(__m512i bits) {
    return _mm512_cmpgt_epu32_mask(magnitudes(bits), fill(0x7f800000));
  }
  // Lanes are an argument, for without optimisation these are macros, and nvcc warns of constants.
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i rounded(__m512 x, __mmask16 lanes = all) {
    return _mm512_maskz_cvt_roundps_epi32(lanes, x, nearest);
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512 sum(__m512 a, __m512 b, __mmask16 lanes = all) {
    return _mm512_maskz_add_round_ps(lanes, a, b, nearest);
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512 product(__m512 a, __m512 b, __mmask16 lanes = all) {
    return _mm512_maskz_mul_round_ps(lanes, a, b, nearest);
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512d lower(__m512 x) {
    return widened(_mm512_maskz_extractf64x4_pd(0xff, _mm512_castps_pd(x), 0));
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512d upper(__m512 x) {
    return widened(_mm512_maskz_extractf64x4_pd(0xff, _mm512_castps_pd(x), 1));
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512d widened(__m256d half) {
    return _mm512_maskz_cvtps_pd(0xff, _mm256_castpd_ps(half));
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512 load_bytes(const void* from) {
    const __m128i bytes = _mm_loadu_si128(static_cast<const __m128i*>(from));
    return _mm512_maskz_cvtepi32_ps(all, _mm512_maskz_cvtepi8_epi32(all, bytes));
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i load_halves(const void* from) {
    return _mm512_maskz_cvtepu16_epi32(all, _mm256_loadu_si256(static_cast<const __m256i*>(from)));
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline void store_halves(void* to, __m512i x) {
    _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_maskz_cvtepi32_epi16(all, x));
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline void add_to(float* to, __m512 x) {
    _mm512_storeu_ps(to, sum(_mm512_loadu_ps(to), x));
  }
};

}  // namespace pactrain::simd::avx512

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/host/simd/memory.hpp>
#include <pactrain/kernel/units.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pactrain::simd::avx2 {

/// What kernels of codecs do with a register of floats, on processors with AVX2.
struct Floats {
 protected:
  static constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  template <bool only_finite>
  [[gnu::target("avx2,popcnt")]]
  static std::uint32_t largest(const float* x, std::size_t n) {
    __m256i most = _mm256_setzero_si256();
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      prefetch_ahead(x + i);
      __m256i size = magnitudes(_mm256_castps_si256(_mm256_loadu_ps(x + i)));
      if (only_finite) {
        size = _mm256_and_si256(size, _mm256_cmpgt_epi32(fill(0x7f800000), size));
      }
      most = _mm256_max_epu32(most, size);
    }
    std::uint32_t lanes[8], found = kernel::largest_magnitude<only_finite>(x + i, n - i);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), most);
    for (const std::uint32_t lane : lanes) found = found < lane ? lane : found;
    return found;
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline std::size_t ones(__m256 mask) {
    return static_cast<std::size_t>(
        _mm_popcnt_u32(static_cast<unsigned>(_mm256_movemask_ps(mask))));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256i fill(std::uint32_t value) {
    return _mm256_set1_epi32(static_cast<int>(value));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256i magnitudes(__m256i bits) {
    return _mm256_and_si256(bits, fill(0x7fffffff));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256i rounded(__m256 x) {
    return _mm256_cvttps_epi32(_mm256_round_ps(x, nearest));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256d lower(__m256 x) {
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256d upper(__m256 x) {
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256 load_bytes(const void* from) {
    const __m128i bytes = _mm_loadl_epi64(static_cast<const __m128i*>(from));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256i load_halves(const void* from) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from)));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline void store_halves(void* to, __m256i a, __m256i b) {
    const __m256i halves = _mm256_packus_epi32(a, b);
    _mm256_storeu_si256(static_cast<__m256i*>(to), _mm256_permute4x64_epi64(halves, 0xd8));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256i bytes_of(__m256i a, __m256i b, __m256i c, __m256i d) {
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
    return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline void store_bytes(void* to, __m256i a, __m256i b, __m256i c, __m256i d) {
    _mm256_storeu_si256(static_cast<__m256i*>(to), bytes_of(a, b, c, d));
  }
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline void add_to(float* to, __m256 x) {
    _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), x));
  }
};

}  // namespace pactrain::simd::avx2

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd/avx2_moments.hpp>
#include <pactrain/host/simd/memory.hpp>
#include <pactrain/kernel/cast.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pactrain::simd::avx2 {

/// Floats as halves and back: the first values of a kernel, as many as is returned, bit for bit as
/// the kernel does them. Written as its twin in avx512_casts.hpp.
struct Casts : Excess {
  [[gnu::target("avx2,popcnt")]]
  static std::size_t run(const kernel::Convert<float, bfloat16>& k, std::size_t first,
                         std::size_t n) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      prefetch_ahead(k.from + first + i);
      store_halves(k.to + first + i, to_bfloat16(k.from + first + i),
                   to_bfloat16(k.from + first + i + 8));
    }
    return i;
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t run(const kernel::Convert<float, float16>& k, std::size_t first,
                         std::size_t n) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      prefetch_ahead(k.from + first + i);
      store_halves(k.to + first + i, to_float16(k.from + first + i),
                   to_float16(k.from + first + i + 8));
    }
    return i;
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t run(const kernel::AddTo<bfloat16, float>& k, std::size_t first,
                         std::size_t n) {
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      const __m256i bits = _mm256_slli_epi32(load_halves(k.from + first + i), 16);
      add_to(k.to + first + i, _mm256_castsi256_ps(bits));
    }
    return i;
  }

  [[gnu::target("avx2,popcnt")]]
  static std::size_t run(const kernel::AddTo<float16, float>& k, std::size_t first, std::size_t n) {
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
      const __m256i half = load_halves(k.from + first + i);
      const __m256i sign = _mm256_slli_epi32(_mm256_and_si256(half, fill(0x8000)), 16);
      const __m256i size = _mm256_and_si256(half, fill(0x7fff));
      const __m256i shifted = _mm256_slli_epi32(size, 13);
      __m256i bits = _mm256_add_epi32(shifted, fill(0x38000000));
      const __m256 count = _mm256_mul_ps(_mm256_cvtepi32_ps(size), _mm256_set1_ps(0x1p-24f));
      const __m256i tiny = _mm256_cmpgt_epi32(fill(0x400), size);
      bits = _mm256_blendv_epi8(bits, _mm256_castps_si256(count), tiny);
      const __m256i payload = _mm256_and_si256(shifted, fill(0x7fe000));
      const __m256i not_finite = _mm256_cmpgt_epi32(size, fill(0x7bff));
      bits = _mm256_blendv_epi8(bits, _mm256_or_si256(payload, fill(0x7f800000)), not_finite);
      add_to(k.to + first + i, _mm256_castsi256_ps(_mm256_or_si256(bits, sign)));
    }
    return i;
  }

 protected:
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256i to_bfloat16(const float* x) {
    const __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(x));
    const __m256i upper_half = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(upper_half, fill(1));
    const __m256i sum = _mm256_add_epi32(bits, _mm256_add_epi32(fill(0x7fff), odd));
    const __m256i nan = _mm256_cmpgt_epi32(magnitudes(bits), fill(0x7f800000));
    return _mm256_blendv_epi8(_mm256_srli_epi32(sum, 16), _mm256_or_si256(upper_half, fill(0x40)),
                              nan);
  }
  /// As float16 itself does it.
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline __m256i to_float16(const float* x) {
    const __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(x)), size = magnitudes(bits);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(size, 13), fill(1));
    const __m256i sum = _mm256_add_epi32(_mm256_sub_epi32(size, fill(0x38000000)),
                                         _mm256_add_epi32(fill(0xfff), odd));
    const __m256 shifted = _mm256_add_ps(_mm256_castsi256_ps(size), _mm256_set1_ps(0.5f));
    const __m256i tiny = _mm256_sub_epi32(_mm256_castps_si256(shifted), fill(0x3f000000));
    __m256i half = _mm256_srli_epi32(sum, 13);
    half = _mm256_blendv_epi8(half, tiny, _mm256_cmpgt_epi32(fill(0x38800000), size));
    half = _mm256_blendv_epi8(half, fill(0x7c00), _mm256_cmpgt_epi32(size, fill(0x477fefff)));
    half = _mm256_blendv_epi8(half, fill(0x7e00), _mm256_cmpgt_epi32(size, fill(0x7f800000)));
    return _mm256_or_si256(half, _mm256_and_si256(_mm256_srli_epi32(bits, 16), fill(0x8000)));
  }
};

}  // namespace pactrain::simd::avx2

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd/avx512_moments.hpp>
#include <pactrain/host/simd/memory.hpp>
#include <pactrain/kernel/cast.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pactrain::simd::avx512 {

/// Floats as halves and back: the first values of a kernel, as many as is returned, bit for bit as
/// the kernel does them. Written as its twin in avx2_casts.hpp.
struct Casts : Excess {
  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t run(const kernel::Convert<float, bfloat16>& k, std::size_t first,
                         std::size_t n) {
    const __m512i half = _mm512_set1_epi32(0x7fff), one = _mm512_set1_epi32(1);
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      prefetch_ahead(k.from + first + i);
      const __m512i bits = _mm512_loadu_si512(k.from + first + i);
      const __m512i upper = _mm512_maskz_srli_epi32(all, bits, 16);
      const __m512i odd = _mm512_and_si512(upper, one);
      const __m512i sum = _mm512_add_epi32(bits, _mm512_add_epi32(half, odd));
      const __m512i nan = _mm512_or_si512(upper, _mm512_set1_epi32(0x40));
      store_halves(k.to + first + i, _mm512_mask_blend_epi32(
                                         is_nan(bits), _mm512_maskz_srli_epi32(all, sum, 16), nan));
    }
    return i;
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t run(const kernel::Convert<float, float16>& k, std::size_t first,
                         std::size_t n) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      prefetch_ahead(k.from + first + i);
      const __m512i bits = _mm512_loadu_si512(k.from + first + i);
      __m256i half = _mm512_maskz_cvtps_ph(all, _mm512_castsi512_ps(bits), nearest);
      if (const __mmask16 nan = is_nan(bits); nan != 0) {  // the payload is not kept
        const __m512i sign = _mm512_and_si512(_mm512_maskz_srli_epi32(all, bits, 16), fill(0x8000));
        const __m512i quiet = _mm512_or_si512(sign, fill(0x7e00));
        half = _mm256_mask_blend_epi16(nan, half, _mm512_maskz_cvtepi32_epi16(all, quiet));
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(k.to + first + i), half);
    }
    return i;
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t run(const kernel::AddTo<bfloat16, float>& k, std::size_t first,
                         std::size_t n) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const __m512i bits = _mm512_maskz_slli_epi32(all, load_halves(k.from + first + i), 16);
      add_to(k.to + first + i, _mm512_castsi512_ps(bits));
    }
    return i;
  }

  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t run(const kernel::AddTo<float16, float>& k, std::size_t first, std::size_t n) {
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
      const auto* from = reinterpret_cast<const __m256i*>(k.from + first + i);
      add_to(k.to + first + i, _mm512_maskz_cvtph_ps(all, _mm256_loadu_si256(from)));
    }
    return i;
  }
};

}  // namespace pactrain::simd::avx512

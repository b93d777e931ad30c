// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/host/simd/avx512_floats.hpp>
#include <pactrain/host/simd/memory.hpp>
#include <pactrain/kernel/moments.hpp>

#include <immintrin.h>

#include <cstddef>

namespace pactrain::simd::avx512 {

/// Moments of magnitudes without their logarithms: of the first values, as many as is returned (a
/// multiple of the lanes), the first of which is in the first lane; bit for bit as the kernel does
/// them. Written as its twin in avx2_moments.hpp.
struct Excess : Floats {
  [[gnu::target("avx512bw,avx512vl")]]
  static std::size_t add_moments(const float* x, std::size_t n, double bar,
                                 kernel::MomentLanes& lanes) {
    const __m512d bars = _mm512_set1_pd(bar);
    const __m512i bar_bits = fill(kernel::floats_below(bar));
    __m512d sums = _mm512_loadu_pd(lanes.sum), squares = _mm512_loadu_pd(lanes.squares);
    std::size_t i = 0, count = 0;
    for (; i + 16 <= n; i += 16) {
      prefetch_ahead(x + i);
      const __m512i size = magnitudes(_mm512_loadu_si512(x + i));
      const __mmask16 finite = _mm512_cmplt_epu32_mask(size, fill(0x7f800000));
      const __mmask16 in = _mm512_mask_cmpgt_epu32_mask(finite, size, bar_bits);
      const __m512 sizes = _mm512_castsi512_ps(size);
      count += ones(in);
      add(_mm512_maskz_sub_pd(static_cast<__mmask8>(in), lower(sizes), bars), sums, squares);
      add(_mm512_maskz_sub_pd(static_cast<__mmask8>(in >> 8), upper(sizes), bars), sums, squares);
    }
    _mm512_storeu_pd(lanes.sum, sums);
    _mm512_storeu_pd(lanes.squares, squares);
    lanes.count += count;
    return i;
  }

 private:
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline void add(__m512d over, __m512d& sums, __m512d& squares, __mmask8 lanes = 0xff) {
    sums = _mm512_add_pd(sums, over);
    squares = _mm512_add_pd(squares, _mm512_maskz_mul_round_pd(lanes, over, over, nearest));
  }
};

}  // namespace pactrain::simd::avx512

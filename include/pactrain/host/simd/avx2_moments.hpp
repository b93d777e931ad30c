// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/host/simd/avx2_floats.hpp>
#include <pactrain/host/simd/memory.hpp>
#include <pactrain/kernel/moments.hpp>

#include <immintrin.h>

#include <cstddef>

namespace pactrain::simd::avx2 {

/// Moments of magnitudes without their logarithms: of the first values, as many as is returned (a
/// multiple of the lanes), the first of which is in the first lane; bit for bit as the kernel does
/// them. Written as its twin in avx512_moments.hpp.
struct Excess : Floats {
  [[gnu::target("avx2,popcnt")]]
  static std::size_t add_moments(const float* x, std::size_t n, double bar,
                                 kernel::MomentLanes& lanes) {
    const __m256d bars = _mm256_set1_pd(bar);
    const __m256i bar_bits = fill(kernel::floats_below(bar)), infinity = fill(0x7f800000);
    __m256d sums[2], squares[2];
    for (std::size_t half = 0; half < 2; ++half) {
      sums[half] = _mm256_loadu_pd(lanes.sum + 4 * half);
      squares[half] = _mm256_loadu_pd(lanes.squares + 4 * half);
    }
    std::size_t i = 0, count = 0;
    for (; i + 8 <= n; i += 8) {
      prefetch_ahead(x + i);
      const __m256 value = _mm256_loadu_ps(x + i);
      const __m256i size = magnitudes(_mm256_castps_si256(value));
      const __m256i in =
          _mm256_and_si256(_mm256_cmpgt_epi32(size, bar_bits), _mm256_cmpgt_epi32(infinity, size));
      count += ones(_mm256_castsi256_ps(in));
      // Zeros in place of what takes no part, so that nothing of it lies above the bar.
      const __m256 sizes = _mm256_castsi256_ps(_mm256_and_si256(size, in));
      add(_mm256_sub_pd(lower(sizes), bars), sums[0], squares[0]);
      add(_mm256_sub_pd(upper(sizes), bars), sums[1], squares[1]);
    }
    for (std::size_t half = 0; half < 2; ++half) {
      _mm256_storeu_pd(lanes.sum + 4 * half, sums[half]);
      _mm256_storeu_pd(lanes.squares + 4 * half, squares[half]);
    }
    lanes.count += count;
    return i;
  }

 private:
  [[gnu::target("avx2,popcnt"), gnu::always_inline]]
  static inline void add(__m256d over, __m256d& sums, __m256d& squares) {
    over = _mm256_max_pd(over, _mm256_setzero_pd());
    sums = _mm256_add_pd(sums, over);
    squares = _mm256_add_pd(squares, _mm256_mul_pd(over, over));
  }
};

}  // namespace pactrain::simd::avx2

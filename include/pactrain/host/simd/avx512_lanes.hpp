// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/host/simd/memory.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pactrain::simd::avx512 {

/// One AVX-512 register of `Size`-byte values; two-byte values are widened to four-byte lanes,
/// which processors without VBMI2 can compress too.
template <std::size_t Size>
struct Lanes {
  static_assert(Size == 2 || Size == 4 || Size == 8, "lanes hold values of 2, 4 or 8 bytes");

  static constexpr std::size_t width = Size == 8 ? 8 : 16;
  static constexpr std::uint32_t all = (std::uint32_t{1} << width) - 1;

  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i load(const void* from) {
    if constexpr (Size == 2) {
      return widen(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
    } else {
      return _mm512_loadu_si512(from);
    }
  }

  /// Loads the first lanes only, as many as `mask` has ones; nothing behind them is read.
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i load(std::uint32_t mask, const void* from) {
    if constexpr (Size == 2) {
      return widen(_mm256_maskz_loadu_epi16(static_cast<__mmask16>(mask), from));
    } else if constexpr (Size == 4) {
      return _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), from);
    } else {
      return _mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), from);
    }
  }

  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline void store(void* to, __m512i x) {
    if constexpr (Size == 2) {
      _mm256_storeu_si256(static_cast<__m256i*>(to), narrow(x));
    } else {
      _mm512_storeu_si512(to, x);
    }
  }

  /// Stores past the caches; `to` is aligned to the vector.
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline void stream(void* to, __m512i x) {
    if constexpr (Size == 2) {
      _mm256_stream_si256(static_cast<__m256i*>(to), narrow(x));
    } else {
      _mm512_stream_si512(static_cast<__m512i*>(to), x);
    }
  }

  /// Sets the lanes of `mask` to zero in memory and touches no other.
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline void clear(std::uint32_t mask, void* to) {
    if constexpr (Size == 2) {
      _mm256_mask_storeu_epi16(to, static_cast<__mmask16>(mask), _mm256_setzero_si256());
    } else if constexpr (Size == 4) {
      _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(mask), _mm512_setzero_si512());
    } else {
      _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(mask), _mm512_setzero_si512());
    }
  }

  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i fill(std::uint64_t value) {
    if constexpr (Size == 8) {
      return _mm512_set1_epi64(static_cast<long long>(value));
    } else {
      return _mm512_set1_epi32(static_cast<int>(value));
    }
  }

  /// Moves the lanes of `mask` to the front.
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i compress(std::uint32_t mask, __m512i x) {
    if constexpr (Size == 8) return _mm512_maskz_compress_epi64(static_cast<__mmask8>(mask), x);
    else return _mm512_maskz_compress_epi32(static_cast<__mmask16>(mask), x);
  }

  /// Moves the first lanes to those of `mask`, and zero to the others.
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i expand(std::uint32_t mask, __m512i x) {
    if constexpr (Size == 8) return _mm512_maskz_expand_epi64(static_cast<__mmask8>(mask), x);
    else return _mm512_maskz_expand_epi32(static_cast<__mmask16>(mask), x);
  }

  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline std::uint32_t equal(__m512i a, __m512i b) {
    if constexpr (Size == 8) return mask_word(_mm512_cmpeq_epi64_mask(a, b));
    else return mask_word(_mm512_cmpeq_epi32_mask(a, b));
  }

  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline std::uint32_t greater(__m512i a, __m512i b) {
    if constexpr (Size == 8) return mask_word(_mm512_cmpgt_epu64_mask(a, b));
    else return mask_word(_mm512_cmpgt_epu32_mask(a, b));
  }

  /// Which lanes have a bit of `b` set.
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline std::uint32_t test(__m512i a, __m512i b) {
    if constexpr (Size == 8) return mask_word(_mm512_test_epi64_mask(a, b));
    else return mask_word(_mm512_test_epi32_mask(a, b));
  }

  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i both(__m512i a, __m512i b) {
    return _mm512_and_si512(a, b);
  }

 private:
  // Masked forms with all lanes on: the plain ones make g++ warn of its own undefined operand.
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m512i widen(__m256i x) {
    return _mm512_maskz_cvtepu16_epi32(static_cast<__mmask16>(all), x);
  }
  [[gnu::target("avx512bw,avx512vl"), gnu::always_inline]]
  static inline __m256i narrow(__m512i x) {
    return _mm512_maskz_cvtepi32_epi16(static_cast<__mmask16>(all), x);
  }
};

}  // namespace pactrain::simd::avx512

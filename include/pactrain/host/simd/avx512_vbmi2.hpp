// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd/avx512.hpp>
#include <pactrain/host/simd/mask_bits.hpp>
#include <pactrain/host/simd/memory.hpp>
#include <pactrain/host/simd/portable.hpp>
#include <pactrain/host/simd/staging.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pactrain::simd::avx512_vbmi2 {

/// The host kernels for processors with AVX-512 VBMI2, which packs two-byte values 32 at a time;
/// everything else is as without it.
struct Kernels : avx512::Kernels {
  template <class T>
  static std::size_t compress(const std::uint64_t* words, std::size_t first, std::size_t n,
                              const T* dense, T* packed) {
    if constexpr (sizeof(T) == 2) return pack<false>(words, first, n, dense, packed, nullptr);
    else return avx512::Kernels::compress(words, first, n, dense, packed);
  }

  template <GradientValue T>
  static std::size_t compress(const std::uint64_t* words, std::size_t first, std::size_t n,
                              const T* dense, T* packed, bool& non_finite) {
    if constexpr (sizeof(T) == 2) return pack<true>(words, first, n, dense, packed, &non_finite);
    else return avx512::Kernels::compress(words, first, n, dense, packed, non_finite);
  }

  template <class T>
  static std::size_t expand(const std::uint64_t* words, std::size_t first, std::size_t n,
                            const T* packed, T* dense) {
    if constexpr (sizeof(T) == 2) {
      const std::size_t lead = lead_to_stream(dense, n);
      const std::size_t used = unpack<false>(words, first, lead, packed, dense);
      if (lead == n) return used;
      packed += used;
      const std::size_t rest = unpack<true>(words, first + lead, n - lead, packed, dense + lead);
      _mm_sfence();
      return used + rest;
    } else {
      return avx512::Kernels::expand(words, first, n, packed, dense);
    }
  }

 private:
  template <bool Scan, class T>
  [[gnu::target("avx512bw,avx512vbmi2,bmi2,popcnt")]]
  static std::size_t pack(const std::uint64_t* words, std::size_t first, std::size_t n,
                          const T* dense, T* packed, bool* non_finite) {
    const MaskBits bits(words, first);
    Staging stage(packed);
    MaskBlock block;
    std::size_t kept = 0;
    std::uint32_t bad = 0;
    std::size_t i = 0;
    for (; i + MaskBlock::entries <= n; i += MaskBlock::entries) {
      const std::size_t count = block.read(bits, i);
      kept += count;
      if (!Scan && count < MaskBlock::few<T>) {
        T* slot = reinterpret_cast<T*>(stage.cursor());
        stage.advance_to(reinterpret_cast<std::byte*>(block.gather(dense + i, slot)));
        continue;
      }
      for (std::size_t w = 0; w < MaskBlock::words; ++w) {
        bad |= pack_word<Scan>(block.word[w], dense + i + 64 * w, stage);
      }
    }
    for (; i + 64 <= n; i += 64) {
      const std::uint64_t word = bits.full(i);
      kept += static_cast<std::size_t>(_mm_popcnt_u64(word));
      bad |= pack_word<Scan>(word, dense + i, stage);
    }
    T* slot = reinterpret_cast<T*>(stage.cursor());
    T* end = Portable::compress_word(bits.part(i, n - i), dense + i, slot);
    kept += static_cast<std::size_t>(end - slot);
    stage.advance_to(reinterpret_cast<std::byte*>(end));
    stage.finish();
    if constexpr (Scan) {
      if (bad != 0 || !Portable::all_finite(dense + i, n - i)) *non_finite = true;
    }
    return kept;
  }

  template <bool Scan, class T>
  [[gnu::target("avx512bw,avx512vbmi2,bmi2,popcnt"), gnu::always_inline]]
  static inline std::uint32_t pack_word(std::uint64_t word, const T* dense, Staging& stage) {
    std::uint32_t bad = 0;
    std::byte* to = stage.cursor();
    for (std::size_t j = 0; j < 64; j += 32) {
      prefetch_ahead(dense + j);
      const __m512i x = _mm512_loadu_si512(dense + j);
      const auto mask = static_cast<std::uint32_t>(word >> j);
      if constexpr (Scan) {
        const __m512i exponent = _mm512_set1_epi16(static_cast<short>(exponent_mask<T>));
        bad |= _mm512_cmpeq_epi16_mask(_mm512_and_si512(x, exponent), exponent);
      }
      _mm512_storeu_si512(to, _mm512_maskz_compress_epi16(mask, x));
      to += static_cast<std::size_t>(_mm_popcnt_u32(mask)) * sizeof(T);
    }
    stage.advance_to(to);
    return bad;
  }

  template <bool Stream, class T>
  [[gnu::target("avx512bw,avx512vbmi2,bmi2,popcnt")]]
  static std::size_t unpack(const std::uint64_t* words, std::size_t first, std::size_t n,
                            const T* packed, T* dense) {
    const MaskBits bits(words, first);
    const T* slot = packed;
    std::size_t i = 0;
    for (; i + 64 <= n; i += 64) {
      const std::uint64_t word = bits.full(i);
      for (std::size_t j = 0; j < 64; j += 32) {
        const auto mask = static_cast<std::uint32_t>(word >> j);
        const auto count = static_cast<unsigned>(_mm_popcnt_u32(mask));
        const __m512i packed_lanes = _mm512_maskz_loadu_epi16(_bzhi_u32(~0u, count), slot);
        const __m512i x = _mm512_maskz_expand_epi16(mask, packed_lanes);
        if constexpr (Stream) _mm512_stream_si512(reinterpret_cast<__m512i*>(dense + i + j), x);
        else _mm512_storeu_si512(dense + i + j, x);
        slot += count;
      }
    }
    slot = Portable::expand_word(bits.part(i, n - i), n - i, slot, dense + i);
    return static_cast<std::size_t>(slot - packed);
  }
};

}  // namespace pactrain::simd::avx512_vbmi2

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd/avx512_lanes.hpp>
#include <pactrain/host/simd/mask_bits.hpp>
#include <pactrain/host/simd/memory.hpp>
#include <pactrain/host/simd/portable.hpp>
#include <pactrain/host/simd/staging.hpp>

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace pactrain::simd::avx512 {

/// The host kernels for processors with AVX-512 F, BW and VL; `portable::Kernels` says what each
/// does. Written as its twin in avx2.hpp: a function for one instruction set is no template over
/// it.
struct Kernels {
  using Portable = portable::Kernels;

  template <class T>
  static std::size_t compress(const std::uint64_t* words, std::size_t first, std::size_t n,
                              const T* dense, T* packed) {
    return pack<false>(words, first, n, dense, packed, nullptr);
  }

  template <GradientValue T>
  static std::size_t compress(const std::uint64_t* words, std::size_t first, std::size_t n,
                              const T* dense, T* packed, bool& non_finite) {
    return pack<true>(words, first, n, dense, packed, &non_finite);
  }

  template <class T>
  static std::size_t expand(const std::uint64_t* words, std::size_t first, std::size_t n,
                            const T* packed, T* dense) {
    const std::size_t lead = lead_to_stream(dense, n);
    const std::size_t used = unpack<false>(words, first, lead, packed, dense);
    if (lead == n) return used;
    packed += used;
    const std::size_t rest = unpack<true>(words, first + lead, n - lead, packed, dense + lead);
    _mm_sfence();
    return used + rest;
  }

  template <class T>
  [[gnu::target("avx512bw,avx512vl,bmi2,popcnt")]]
  static void clear_unkept(const std::uint64_t* words, std::size_t first, std::size_t n, T* dense) {
    using L = Lanes<sizeof(T)>;
    const MaskBits bits(words, first);
    std::size_t i = 0;
    for (; i + 64 <= n; i += 64) {
      const std::uint64_t unkept = ~bits.full(i);
      for (std::size_t j = 0; j < 64; j += L::width) {
        L::clear(static_cast<std::uint32_t>(unkept >> j) & L::all, dense + i + j);
      }
    }
    Portable::clear_word(bits.part(i, n - i), n - i, dense + i);
  }

  template <GradientValue T>
  [[gnu::target("avx512bw,avx512vl,bmi2,popcnt")]]
  static bool any_stray(const std::uint64_t* words, std::size_t first, std::size_t n, const T* x) {
    using L = Lanes<sizeof(T)>;
    const __m512i no_sign = L::fill(magnitude_mask<T>);
    const MaskBits bits(words, first);
    std::size_t i = 0;
    for (; i + 64 <= n; i += 64) {
      const std::uint64_t unkept = ~bits.full(i);
      std::uint32_t stray = 0;
      for (std::size_t j = 0; j < 64; j += L::width) {
        prefetch_ahead(x + i + j);
        stray |= L::test(L::load(x + i + j), no_sign) & static_cast<std::uint32_t>(unkept >> j);
      }
      if (stray != 0) return true;
    }
    return Portable::stray_word(bits.part(i, n - i), n - i, x + i);
  }

  template <GradientValue T>
  [[gnu::target("avx512bw,avx512vl,bmi2,popcnt")]]
  static bool all_finite(const T* x, std::size_t n) {
    using L = Lanes<sizeof(T)>;
    const __m512i exponent = L::fill(exponent_mask<T>);
    std::uint32_t bad = 0;
    std::size_t i = 0;
    for (; i + L::width <= n; i += L::width) {
      prefetch_ahead(x + i);
      bad |= L::equal(L::both(L::load(x + i), exponent), exponent);
    }
    return bad == 0 && Portable::all_finite(x + i, n - i);
  }

  template <GradientValue T>
  [[gnu::target("avx512bw,avx512vl,bmi2,popcnt")]]
  static BandCount band(const T* x, std::size_t n, bits_t<T> low, bits_t<T> high,
                        bits_t<T>* found) {
    using L = Lanes<sizeof(T)>;
    const __m512i no_sign = L::fill(magnitude_mask<T>);
    const __m512i lows = L::fill(low);
    const __m512i highs = L::fill(high);
    BandCount count;
    std::size_t i = 0;
    for (; i + L::width <= n; i += L::width) {
      prefetch_ahead(x + i);
      const __m512i size = L::both(L::load(x + i), no_sign);
      const std::uint32_t above = L::greater(size, highs);
      const std::uint32_t at_high = L::equal(size, highs);
      const std::uint32_t between = L::greater(size, lows) & ~(above | at_high);
      L::store(found + count.between, L::compress(between, size));
      count.above_high += ones(above);
      count.at_high += ones(at_high);
      count.between += ones(between);
      count.at_low += ones(L::equal(size, lows) & ~at_high);
    }
    return count += Portable::band(x + i, n - i, low, high, found + count.between);
  }

 private:
  [[gnu::target("popcnt"), gnu::always_inline]]
  static inline std::size_t ones(std::uint32_t mask) {
    return static_cast<std::size_t>(_mm_popcnt_u32(mask));
  }

  template <bool Scan, class T>
  [[gnu::target("avx512bw,avx512vl,bmi2,popcnt")]]
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
  [[gnu::target("avx512bw,avx512vl,bmi2,popcnt"), gnu::always_inline]]
  static inline std::uint32_t pack_word(std::uint64_t word, const T* dense, Staging& stage) {
    using L = Lanes<sizeof(T)>;
    std::uint32_t bad = 0;
    std::byte* to = stage.cursor();
    for (std::size_t j = 0; j < 64; j += L::width) {
      prefetch_ahead(dense + j);
      const __m512i x = L::load(dense + j);
      const auto mask = static_cast<std::uint32_t>(word >> j) & L::all;
      if constexpr (Scan) {
        const __m512i exponent = L::fill(exponent_mask<T>);
        bad |= L::equal(L::both(x, exponent), exponent);
      }
      L::store(to, L::compress(mask, x));
      to += ones(mask) * sizeof(T);
    }
    stage.advance_to(to);
    return bad;
  }

  template <bool Stream, class T>
  [[gnu::target("avx512bw,avx512vl,bmi2,popcnt")]]
  static std::size_t unpack(const std::uint64_t* words, std::size_t first, std::size_t n,
                            const T* packed, T* dense) {
    using L = Lanes<sizeof(T)>;
    const MaskBits bits(words, first);
    const T* slot = packed;
    std::size_t i = 0;
    for (; i + 64 <= n; i += 64) {
      const std::uint64_t word = bits.full(i);
      for (std::size_t j = 0; j < 64; j += L::width) {
        const auto mask = static_cast<std::uint32_t>(word >> j) & L::all;
        const std::size_t count = ones(mask);
        const auto first_lanes = _bzhi_u32(L::all, static_cast<unsigned>(count));
        const __m512i x = L::expand(mask, L::load(first_lanes, slot));
        if constexpr (Stream) L::stream(dense + i + j, x);
        else L::store(dense + i + j, x);
        slot += count;
      }
    }
    slot = Portable::expand_word(bits.part(i, n - i), n - i, slot, dense + i);
    return static_cast<std::size_t>(slot - packed);
  }
};

}  // namespace pactrain::simd::avx512

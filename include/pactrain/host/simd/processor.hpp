// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/host/simd/level.hpp>
#include <pactrain/host/simd/portable.hpp>
#include <pactrain/host/simd/portable_codes.hpp>

#if defined(__x86_64__) && defined(__GNUC__)
#include <pactrain/host/simd/avx2.hpp>
#include <pactrain/host/simd/avx2_codes.hpp>
#include <pactrain/host/simd/avx512.hpp>
#include <pactrain/host/simd/avx512_codes.hpp>
#include <pactrain/host/simd/avx512_vbmi2.hpp>

namespace pactrain::simd {

/// The highest level this processor and its operating system support.
inline Level best_level() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("popcnt")) return Level::portable;
  if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("bmi2")) {
    return Level::avx2;
  }
  return __builtin_cpu_supports("avx512vbmi2") ? Level::avx512vbmi2 : Level::avx512;
}

/// Calls `f` with the kernels of a level, which must not be above `best_level()`.
template <class F>
decltype(auto) with_kernels(Level level, F f) {
  switch (level) {
    case Level::avx512vbmi2:
      return f(avx512_vbmi2::Kernels{});
    case Level::avx512:
      return f(avx512::Kernels{});
    case Level::avx2:
      return f(avx2::Kernels{});
    default:
      return f(portable::Kernels{});
  }
}

/// The same, with what codecs use.
template <class F>
decltype(auto) with_codes(Level level, F f) {
  switch (level) {
    case Level::avx512vbmi2:
    case Level::avx512:
      return f(avx512::Codes{});
    case Level::avx2:
      return f(avx2::Codes{});
    default:
      return f(portable::Codes{});
  }
}

}  // namespace pactrain::simd
#else
namespace pactrain::simd {

inline Level best_level() { return Level::portable; }

template <class F>
decltype(auto) with_kernels(Level, F f) {
  return f(portable::Kernels{});
}

template <class F>
decltype(auto) with_codes(Level, F f) {
  return f(portable::Codes{});
}

}  // namespace pactrain::simd
#endif

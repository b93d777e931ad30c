// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>

#include <string>
#include <string_view>

namespace pactrain::simd {

/// The instruction sets that host kernels are written for, each including the ones before it.
/// `avx512` is F, BW and VL; `avx512vbmi2` differs from it for two-byte values only.
enum class Level { portable, avx2, avx512, avx512vbmi2 };

/// All levels, lowest first.
inline constexpr Level all_levels[] = {Level::portable, Level::avx2, Level::avx512,
                                       Level::avx512vbmi2};

/// The name of a level, as `PACTRAIN_SIMD` spells it.
constexpr const char* name_of(Level level) {
  constexpr const char* names[] = {"portable", "avx2", "avx512", "avx512vbmi2"};
  return names[static_cast<int>(level)];
}

/// The level a user asked for by name on a processor that has `best`; no name means `best`.
/// Throws `PreconditionError` for a name that is no level and for a level above `best`.
inline Level level_from(std::string_view name, Level best) {
  if (name.empty()) return best;
  for (const Level level : all_levels) {
    if (name != name_of(level)) continue;
    if (level <= best) return level;
    throw PreconditionError("pactrain: PACTRAIN_SIMD asks for " + std::string(name) +
                            ", which this processor lacks. Set it to " + name_of(best) +
                            " or unset it?");
  }
  throw PreconditionError("pactrain: PACTRAIN_SIMD is \"" + std::string(name) +
                          "\", which names no SIMD level. "
                          "Set it to portable, avx2, avx512 or avx512vbmi2, or unset it?");
}

}  // namespace pactrain::simd

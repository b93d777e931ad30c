// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/units.hpp>

#include <cstddef>
#include <cstdint>

/// Codes that are integers times a share of a bound, so that a sum of codes means the sum of
/// values.
namespace pactrain::kernel {

/// `steps` steps from -bound to bound, which are the codes -reach, ..., reach: one apart, or two
/// where there is no step at zero.
struct UniformGrid {
  std::int32_t steps;
  PACTRAIN_FN constexpr std::int32_t reach() const { return steps % 2 == 0 ? steps / 2 : steps; }
  /// The code of the step below `x`, or of the one above it by chance; `x` is from -1 to 1.
  template <class A>
  PACTRAIN_FN std::int32_t operator()(A x, float u) const {
    const A place = (x + A(1)) / A(2) * static_cast<A>(steps);
    auto step = static_cast<std::int32_t>(place);
    step += static_cast<A>(u) < place - static_cast<A>(step) ? 1 : 0;
    return steps % 2 == 0 ? step - steps / 2 : 2 * step - steps;
  }
};

/// The table of THC for four bits, 30 steps and p = 1/32: 16 of the 31 numbers from -15 to 15, the
/// denser the likelier a normal variable is there.
struct NormalGrid {
  PACTRAIN_FN static constexpr std::int32_t reach() { return 15; }
  template <class A>
  PACTRAIN_FN std::int32_t operator()(A x, float u) const {
    constexpr std::int32_t table[16] = {-15, -12, -10, -8, -6, -4, -2, -1,
                                        1,   2,   4,   6,  8,  10, 12, 15};
    const A place = x * A(15);
    std::size_t i = 0;
    for (std::size_t next = 1; next < 15; ++next)
      i = static_cast<A>(table[next]) <= place ? next : i;
    const auto low = static_cast<A>(table[i]), width = static_cast<A>(table[i + 1] - table[i]);
    return static_cast<A>(u) * width < place - low ? table[i + 1] : table[i];
  }
};

/// wire[i] = the code of value i, cut to the bound; 0 where there is none or a value is not finite.
template <class Grid, class S, class W>
struct EncodeGrid {
  using A = arithmetic_t<S>;
  Grid grid;
  Units units;
  const S* values;
  const float* bounds;
  Random random;
  W* wire;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    const A bound = static_cast<A>(bounds[unit.scale]);
    constexpr std::size_t group = 16;
    float u[group];
    for (std::size_t j = 0; j < unit.size; ++j) {
      const std::size_t at = unit.at + j;
      if (j == 0 || at % group == 0) uniforms(random, unit.part, at / group, u);
      const S& x = values[unit.first + j];
      const bool coded = bound > A(0) && is_finite(x);
      const A share = coded ? cast<A>(x) / bound : A(0);
      const A cut = share > A(1) ? A(1) : share < A(-1) ? A(-1) : share;
      wire[unit.first + j] = coded ? static_cast<W>(grid(cut, u[at % group])) : W{0};
    }
  }
};

/// sum[i] += code (or sum of codes) i / reach times its bound.
template <class W, class A>
struct DecodeGrid {
  Units units;
  const W* wire;
  const float* bounds;
  std::int32_t reach;
  A* sum;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    const A bound = static_cast<A>(bounds[unit.scale]);
    for (std::size_t j = unit.first; j < unit.first + unit.size; ++j) {
      sum[j] += static_cast<A>(wire[j]) / static_cast<A>(reach) * bound;
    }
  }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/units.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace pactrain {

/// The digit that `x` becomes for a number `u` drawn from [0, 1): its sign if u < |x| / scale, else
/// 0; 0 for what is not finite. Its mean over `u`, times `scale`, is `x`, cut to [-scale, scale].
template <std::floating_point A>
PACTRAIN_FN constexpr int ternary_digit(A x, A scale, float u) {
  const A size = bits_as<A>(magnitude(x));
  // Masks rather than branches: the outcome is random, and vectors have no branches.
  const int hit =
      static_cast<int>(static_cast<A>(u) < size / scale) & static_cast<int>(is_finite(x));
  return -hit & (static_cast<int>(x > A(0)) - static_cast<int>(x < A(0)));
}

namespace kernel {

/// The largest finite magnitude and the sum of squares of a unit's finite values.
struct Spread {
  double largest, squares;
};

/// Squares go over lanes, value j to lane j modulo 16, an order that vectors can follow.
inline constexpr std::size_t square_lanes = 16;
template <class S>
PACTRAIN_FN double finite_square(const S& x) {
  const auto wide = static_cast<double>(cast<arithmetic_t<S>>(x));
  return is_finite(x) ? wide * wide : 0.0;
}
/// Adds the squares of values first ... n - 1, `first` being a multiple of 16.
template <class S>
PACTRAIN_FN void add_squares(const S* x, std::size_t first, std::size_t n, double* sums) {
  std::size_t j = first;
  for (; j + square_lanes <= n; j += square_lanes) {
    for (std::size_t i = 0; i < square_lanes; ++i) sums[i] += finite_square(x[j + i]);
  }
  for (std::size_t i = 0; j + i < n; ++i) sums[i] += finite_square(x[j + i]);
}
PACTRAIN_FN inline double total_of(const double* sums) {
  double total = 0;
  for (std::size_t i = 0; i < square_lanes; ++i) total += sums[i];
  return total;
}

template <class S>
PACTRAIN_FN Spread spread_of(const S* x, std::size_t n, bool with_squares) {
  const bits_t<S> largest = largest_magnitude<true>(x, n);
  double sums[square_lanes] = {};
  if (with_squares) add_squares(x, 0, n, sums);
  return {static_cast<double>(cast<arithmetic_t<S>>(bits_as<S>(largest))), total_of(sums)};
}
template <class S>
struct MeasureSpread {
  Units units;
  const S* values;
  bool with_squares;
  Spread* spread;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    spread[number] = spread_of(values + unit.first, unit.size, with_squares);
  }
};

/// bound[scale] = the smaller of the largest magnitude and `clip` times the root mean square.
struct BoundSpread {
  Units units;
  const Spread* spread;
  double clip;
  float* bound;
  PACTRAIN_FN void operator()(std::size_t scale) const {
    const Units::Range range = units.under(scale);
    double largest = 0, squares = 0;
    for (std::size_t i = range.first; i < range.last; ++i) {
      largest = largest < spread[i].largest ? spread[i].largest : largest;
      squares += spread[i].squares;
    }
    if (clip > 0 && squares > 0) {
      const double cut = clip * std::sqrt(squares / static_cast<double>(range.values));
      largest = cut < largest ? cut : largest;
    }
    bound[scale] = not_below(largest);
  }

  static constexpr float largest_float = std::numeric_limits<float>::max();
  /// The least float that is not below `x` >= 0, or the largest one.
  PACTRAIN_FN static float not_below(double x) {
    if (!(x < static_cast<double>(largest_float))) return largest_float;
    const float near = static_cast<float>(x);
    if (static_cast<double>(near) >= x) return near;
    return bits_as<float>(bits_as<std::uint32_t>(near) + 1);
  }
};

/// wire[i] = the ternary digit of value i.
template <class S, class W>
struct EncodeTernary {
  Units units;
  const S* values;
  const float* scales;
  Random random;
  W* wire;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    const S* const x = values + unit.first;
    W* const out = wire + unit.first;
    const A scale = static_cast<A>(scales[unit.scale]);
    if (!(scale > A(0))) {
      for (std::size_t j = 0; j < unit.size; ++j) out[j] = W{0};
      return;
    }
    constexpr std::size_t group = 16, width = 256;
    float u[width];
    const std::size_t end = unit.at + unit.size;
    for (std::size_t at = unit.at; at < end;) {
      // Batches, so that numbers stored one by one have reached the cache when vectors load them.
      const std::size_t begin = at / group * group;
      const std::size_t stop = begin + width < end ? begin + width : end;
      for (std::size_t i = begin; i < stop; i += group) {
        uniforms(random, unit.part, i / group, u + (i - begin));
      }
      digits(x + (at - unit.at), scale, u + (at - begin), stop - at, out + (at - unit.at));
      at = stop;
    }
  }

 private:
  using A = arithmetic_t<S>;
  PACTRAIN_FN static void digits(const S* x, A scale, const float* u, std::size_t n, W* out) {
    constexpr std::size_t width = 16;
    std::size_t i = 0;
    for (; i + width <= n; i += width) {
      A value[width];
      int digit[width];  // local, so that stores of bytes, which may alias anything, come last
      for (std::size_t j = 0; j < width; ++j) value[j] = cast<A>(x[i + j]);
      for (std::size_t j = 0; j < width; ++j) digit[j] = ternary_digit(value[j], scale, u[i + j]);
      for (std::size_t j = 0; j < width; ++j) out[i + j] = static_cast<W>(digit[j]);
    }
    for (; i < n; ++i) out[i] = static_cast<W>(ternary_digit(cast<A>(x[i]), scale, u[i]));
  }
};

/// sum[i] += digit (or sum of digits) i times its scale.
template <class W, class A>
struct DecodeTernary {
  Units units;
  const W* wire;
  const float* scales;
  A* sum;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    const A scale = static_cast<A>(scales[unit.scale]);
    const W* const digits = wire + unit.first;
    A* const to = sum + unit.first;
    for (std::size_t j = 0; j < unit.size; ++j) to[j] += static_cast<A>(digits[j]) * scale;
  }
};

}  // namespace kernel

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/units.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// The Walsh-Hadamard transform of `n` values, a power of two, in place; orthonormal, and so its
/// own inverse.
template <class A>
PACTRAIN_FN void hadamard(A* x, std::size_t n) {
  for (std::size_t half = 1; half < n; half *= 2) {
    for (std::size_t first = 0; first < n; first += 2 * half) {
      for (std::size_t i = first; i < first + half; ++i) {
        const A a = x[i], b = x[i + half];
        x[i] = a + b;
        x[i + half] = a - b;
      }
    }
  }
  const A norm = static_cast<A>(std::sqrt(static_cast<double>(n)));
  for (std::size_t i = 0; i < n; ++i) x[i] /= norm;
}

/// The same for any number of values, cut into powers of two, the largest first.
template <class A>
PACTRAIN_FN void hadamard_of_any(A* x, std::size_t n) {
  while (n > 0) {
    std::size_t chunk = 1;
    while (2 * chunk <= n) chunk *= 2;
    hadamard(x, chunk);
    x += chunk;
    n -= chunk;
  }
}

/// A sign by parameter and index.
PACTRAIN_FN inline bool is_turned(Random random, std::size_t part, std::size_t at) {
  return (random_words(random, part, at / 128)[at / 32 % 4] >> at % 32 & 1u) != 0;
}

/// y = the transform of x with random signs, by unit.
template <class S>
struct Rotate {
  using A = arithmetic_t<S>;
  Units units;
  Random random;
  const S* x;
  A* y;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    for (std::size_t j = 0; j < unit.size; ++j) {
      const A value = cast<A>(x[unit.first + j]);
      y[unit.first + j] = is_turned(random, unit.part, unit.at + j) ? -value : value;
    }
    hadamard_of_any(y + unit.first, unit.size);
  }
};

/// sum += what was rotated to y, which is used up.
template <class A>
struct RotateBack {
  Units units;
  Random random;
  A* y;
  A* sum;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    hadamard_of_any(y + unit.first, unit.size);
    for (std::size_t j = 0; j < unit.size; ++j) {
      const A value = y[unit.first + j];
      sum[unit.first + j] += is_turned(random, unit.part, unit.at + j) ? -value : value;
    }
  }
};

}  // namespace pactrain::kernel

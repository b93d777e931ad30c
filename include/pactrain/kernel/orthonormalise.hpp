// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/matrix.hpp>

#include <cmath>
#include <cstddef>

namespace pactrain::kernel {

/// The power of two at or below the largest magnitude of `n` values (the least normal number for
/// smaller ones); 0 where all are zero, infinity where one is not finite.
template <class A>
PACTRAIN_FN A binary_scale(const A* x, std::size_t n) {
  constexpr bits_t<A> least = exponent_mask<A> & (~exponent_mask<A> + 1);
  bits_t<A> largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    largest = largest < magnitude(x[i]) ? magnitude(x[i]) : largest;
  }
  if (largest != 0 && largest < least) largest = least;
  return bits_as<A>(largest & exponent_mask<A>);
}

/// The euclidean length of `n` values; 0 where one is not finite. No square under- or overflows,
/// and those of floats are exact in double.
template <class C, class A>
PACTRAIN_FN C length_of(const A* x, std::size_t n) {
  const A scale = binary_scale(x, n);
  if (!(scale > A(0)) || !is_finite(scale)) return C(0);
  C sums[dot_lanes] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const C part = static_cast<C>(x[i]) / static_cast<C>(scale);
    sums[i % dot_lanes] += part * part;
  }
  C sum = 0;
  for (std::size_t lane = 0; lane < dot_lanes; ++lane) sum += sums[lane];
  return std::sqrt(sum) * static_cast<C>(scale);
}

/// Where the left factor of a matrix lies among all: `rank` columns of `rows` entries.
struct Columns {
  std::size_t first, rows, rank;
  friend bool operator==(const Columns&, const Columns&) = default;
};

/// Makes the columns of matrix `i` orthonormal by Gram and Schmidt, each column against those
/// before it twice. What is left of a column when less than `floor` of it is left is rounding, and
/// becomes zeros, as does what is not finite. C is the type of sums.
template <class C, class A>
struct Orthonormalise {
  A* all;
  const Columns* factors;
  double floor;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const Columns factor = factors[i];
    const std::size_t n = factor.rows;
    A* const data = all + factor.first;
    for (std::size_t k = 0; k < factor.rank; ++k) {
      A* const column = data + k * n;
      const C before = scale(column, n, length_of<C>(column, n));
      for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t other = 0; other < k; ++other) {
          const A* const base = data + other * n;
          const A along = static_cast<A>(dot<C>(base, column, n));
          for (std::size_t j = 0; j < n; ++j) {
            column[j] = static_cast<A>(static_cast<C>(column[j]) -
                                       static_cast<C>(along) * static_cast<C>(base[j]));
          }
        }
        const C left = length_of<C>(column, n);
        scale(column, n, left > static_cast<C>(floor) * before ? left : C(0));
      }
    }
  }

 private:
  /// Divides by the length; zeros if it is 0. The length that the column has then.
  PACTRAIN_FN static C scale(A* column, std::size_t n, C length) {
    for (std::size_t j = 0; j < n; ++j) {
      column[j] = length > C(0) ? static_cast<A>(static_cast<C>(column[j]) / length) : A(0);
    }
    return length > C(0) ? C(1) : C(0);
  }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
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

/// lengths[k] becomes the length of column k; 0 where there are no columns.
template <class A>
struct ColumnLength {
  const A* columns;
  std::size_t n;
  double* lengths;
  PACTRAIN_FN void operator()(std::size_t k) const {
    lengths[k] = columns != nullptr ? length_of<double>(columns + k * n, n) : 0.0;
  }
};

/// Columns of length one from those of `lengths`; a column of zeros is drawn: sums of four numbers
/// in [0, 1) less two, nearly normal and, as the additions are exact, the same everywhere.
template <class A>
struct PrepareColumns {
  const A* columns;  ///< may be null where all lengths are 0
  const double* lengths;
  std::size_t n;
  Random random;
  std::size_t part;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const double length = lengths[i / n];
    if (length > 0) {
      out[i] = static_cast<A>(static_cast<double>(columns[i]) / length);
      return;
    }
    const auto words = random_words(random, part, i);
    out[i] = static_cast<A>(uniform(words[0]) + uniform(words[1]) + uniform(words[2]) +
                            uniform(words[3]) - 2.0f);
  }
};

/// Where the left factor of a matrix lies among all: `rank` columns of `rows` entries.
struct Columns {
  std::size_t first, rows, rank;
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

/// Entries of a matrix that is approximated, a run at a time: each becomes the product of the
/// reduced factors, and what is missed of `compensated` is left in its place.
template <class T, class A>
struct Approximate {
  static constexpr std::size_t run = 1024, width = 64;

  const A* left;   ///< `rank` columns of `rows`
  const A* right;  ///< `rank` columns of `cols`, reduced
  const A* mine;   ///< this rank's own right factor, for the local error; else null
  std::size_t rows, cols, rank, at, size;
  A ranks;            ///< by which a sum is divided before it is missed
  T* gradient;        ///< entry `at` first
  A* compensated;     ///< of the whole matrix; null where nothing is remembered
  const A* residual;  ///< of the whole matrix: it stays where what is missed is not finite
  PACTRAIN_FN void operator()(std::size_t i) const {
    std::size_t e = i * run;
    const std::size_t end = size - e < run ? size : e + run;
    while (e < end) {
      const std::size_t row = (at + e) / cols, col = (at + e) % cols;
      std::size_t n = cols - col < end - e ? cols - col : end - e;
      if (n > width) n = width;
      double sums[width] = {};
      multiply(right, row, col, n, sums);
      for (std::size_t j = 0; j < n; ++j) gradient[e + j] = cast<T>(sums[j]);
      if (compensated != nullptr) miss(row, col, n, e, sums);
      e += n;
    }
  }

 private:
  PACTRAIN_FN void multiply(const A* factor, std::size_t row, std::size_t col, std::size_t n,
                            double* sums) const {
    for (std::size_t k = 0; k < rank; ++k) {
      const auto x = static_cast<double>(left[k * rows + row]);
      const A* const y = factor + k * cols + col;
      for (std::size_t j = 0; j < n; ++j) sums[j] += x * static_cast<double>(y[j]);
    }
  }
  PACTRAIN_FN void miss(std::size_t row, std::size_t col, std::size_t n, std::size_t e,
                        double* sums) const {
    if (mine != nullptr) {
      for (std::size_t j = 0; j < n; ++j) sums[j] = 0;
      multiply(mine, row, col, n, sums);
    }
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t to = at + e + j;
      const A conveyed =
          mine != nullptr ? static_cast<A>(sums[j]) : cast<A>(gradient[e + j]) / ranks;
      const A missed = compensated[to] - conveyed;
      compensated[to] = is_finite(missed) ? missed : residual[to];
    }
  }
};

}  // namespace pactrain::kernel

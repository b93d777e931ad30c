// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>

#include <cstddef>

namespace pactrain::kernel {

/// A matrix, row after row.
template <class A>
struct Matrix {
  const A* data;
  std::size_t rows, cols;
};

/// Running sums of a product, for compilers to use vectors.
inline constexpr std::size_t dot_lanes = 16;

/// The sum of x[i] * y[i], in an order that depends on `n` alone: running sums, folded. Products of
/// floats are exact in double, so that a compiler that fuses them with sums gives the same bits as
/// one that does not.
template <class C = double, class X, class Y>
PACTRAIN_FN C dot(const X* x, const Y* y, std::size_t n) {
  C sums[dot_lanes] = {};
  std::size_t i = 0;
  for (; i + dot_lanes <= n; i += dot_lanes) {
    for (std::size_t lane = 0; lane < dot_lanes; ++lane) {
      sums[lane] += static_cast<C>(x[i + lane]) * static_cast<C>(y[i + lane]);
    }
  }
  for (std::size_t lane = 0; i + lane < n; ++lane) {
    sums[lane] += static_cast<C>(x[i + lane]) * static_cast<C>(y[i + lane]);
  }
  for (std::size_t half = dot_lanes / 2; half > 0; half /= 2) {
    for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

/// Row `row` of the product of a matrix with `rank` columns, each in one piece: out has `rank`
/// columns as well.
template <class A>
struct TimesColumns {
  Matrix<A> matrix;
  const A* columns;
  std::size_t rank;
  A* out;
  PACTRAIN_FN void operator()(std::size_t row) const {
    const A* const x = matrix.data + row * matrix.cols;
    for (std::size_t k = 0; k < rank; ++k) {
      out[k * matrix.rows + row] = static_cast<A>(dot(x, columns + k * matrix.cols, matrix.cols));
    }
  }
};

/// The transposed product, by blocks of rows and tiles of columns: partial sums of one block, the
/// loops inside of unit stride.
template <class A>
struct TransposedTile {
  static constexpr std::size_t width = 64, height = 256;  ///< entries of a tile, rows of a block
  static constexpr std::size_t at_once = 4;               ///< columns of the factor

  PACTRAIN_FN static constexpr std::size_t count(std::size_t n, std::size_t size) {
    return (n + size - 1) / size;
  }

  Matrix<A> matrix;
  const A* columns;
  std::size_t rank;
  double* partial;  ///< for each block: `rank` rows of `cols`
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t tiles = count(matrix.cols, width);
    const std::size_t block = i / tiles, left = i % tiles * width;
    const std::size_t n = matrix.cols - left < width ? matrix.cols - left : width;
    const std::size_t top = block * height;
    const std::size_t bottom = matrix.rows - top < height ? matrix.rows : top + height;
    for (std::size_t k = 0; k < rank; k += at_once) {
      double sums[at_once][width] = {};
      const std::size_t ks = rank - k < at_once ? rank - k : at_once;
      for (std::size_t row = top; row < bottom; ++row) {
        const A* const x = matrix.data + row * matrix.cols + left;
        for (std::size_t kk = 0; kk < ks; ++kk) {
          const auto y = static_cast<double>(columns[(k + kk) * matrix.rows + row]);
          for (std::size_t j = 0; j < n; ++j) sums[kk][j] += static_cast<double>(x[j]) * y;
        }
      }
      for (std::size_t kk = 0; kk < ks; ++kk) {
        double* const to = partial + (block * rank + k + kk) * matrix.cols + left;
        for (std::size_t j = 0; j < n; ++j) to[j] = sums[kk][j];
      }
    }
  }
};

/// out[i] becomes the sum over blocks of partial[block * n + i], blocks in order.
template <class A>
struct AddBlocks {
  const double* partial;
  std::size_t n, blocks;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    double sum = 0;
    for (std::size_t block = 0; block < blocks; ++block) sum += partial[block * n + i];
    out[i] = static_cast<A>(sum);
  }
};

}  // namespace pactrain::kernel

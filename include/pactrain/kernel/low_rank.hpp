// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/orthonormalise.hpp>

#include <cstddef>

namespace pactrain::kernel {

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

/// A matrix from its factors, a run of entries at a time.
template <class V, class A>
struct Approximate {
  static constexpr std::size_t run = 1024, width = 64;
  static constexpr std::size_t runs(std::size_t size) { return (size + run - 1) / run; }

  const A* left;   ///< `rank` columns of `rows`
  const A* right;  ///< `rank` columns of `cols`
  std::size_t rows, cols, rank;
  V* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t size = rows * cols;
    std::size_t e = i * run;
    const std::size_t end = size - e < run ? size : e + run;
    while (e < end) {
      const std::size_t row = e / cols, col = e % cols;
      std::size_t n = cols - col < end - e ? cols - col : end - e;
      if (n > width) n = width;
      double sums[width] = {};
      for (std::size_t k = 0; k < rank; ++k) {
        const auto x = static_cast<double>(left[k * rows + row]);
        const A* const y = right + k * cols + col;
        for (std::size_t j = 0; j < n; ++j) sums[j] += x * static_cast<double>(y[j]);
      }
      for (std::size_t j = 0; j < n; ++j) out[e + j] = cast<V>(sums[j]);
      e += n;
    }
  }
};

/// out[i] = values[i] / ranks.
template <class T, class A>
struct ShareOf {
  const T* values;
  A ranks;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const { out[i] = cast<A>(values[i]) / ranks; }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/model.hpp>
#include <pactrain/kernel/low_rank.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pactrain {

/// Which parameters of a model travel as two factors of `rank` columns, and where everything lies:
/// the matrices' values one after the other, their left factors, their right factors, and the
/// `plain` entries that travel as they are.
struct LowRankLayout {
  /// A matrix of part `part`, and where its values and factors begin.
  struct Shape {
    std::size_t part, rows, cols, rank, values, left, right;
  };
  /// Of a part: the number of its matrix, or where it lies among what travels as it is.
  struct Place {
    bool factored;
    std::size_t at;
  };

  std::vector<Place> places;
  std::vector<Shape> matrices;
  std::vector<kernel::Columns> columns;  ///< the left factors, for kernels
  std::size_t values = 0, plain = 0, lefts = 0, rights = 0;

  LowRankLayout() = default;
  LowRankLayout(const Model& model, std::size_t most, double min_rate) {
    for (std::size_t part = 0; part < model.parts().size(); ++part) {
      const std::size_t size = model.parts()[part].size, n = model.parts()[part].rows;
      const std::size_t m = n > 1 ? size / n : 0, rank = std::min({most, n, m});
      const auto both = static_cast<double>(n + m), all = static_cast<double>(n * m);
      const bool factored = m > 1 && both * static_cast<double>(rank) * min_rate < all;
      places.push_back({factored, factored ? matrices.size() : plain});
      if (!factored) {
        plain += size;
        continue;
      }
      matrices.push_back({part, n, m, rank, values, lefts, rights});
      columns.push_back({lefts, n, rank});
      values += size;
      lefts += n * rank;
      rights += m * rank;
    }
  }
};

}  // namespace pactrain

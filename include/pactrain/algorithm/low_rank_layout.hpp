// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/orthonormalise.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// Columns of the factors of part `part`, `most` at most and no more than it has rows or columns; 0
/// where it is no matrix, or would not shrink by more than `min_rate`.
[[nodiscard]] inline std::size_t factor_rank(const Part& part, std::size_t most, double min_rate) {
  const std::size_t n = part.rows, m = n > 1 ? part.size / n : 0, rank = std::min({most, n, m});
  const auto both = static_cast<double>(n + m), all = static_cast<double>(n * m);
  return m > 1 && both * static_cast<double>(rank) * min_rate < all ? rank : 0;
}

/// Which of the packed parameters of a call travel as two factors, and where everything lies: the
/// left factors one after the other, the right ones, and the `plain` values, which travel as they
/// are.
struct LowRankLayout {
  /// A matrix, where its packed values begin, and its factors.
  struct Shape {
    std::size_t part, first, rows, cols, rank, left, right;
  };
  /// Packed values from `first` on, and where they lie among those that travel as they are.
  struct Run {
    std::size_t first, size, at;
  };

  std::vector<Shape> matrices;
  std::vector<Run> runs;
  std::vector<kernel::Columns> columns;  ///< the left factors, for kernels
  std::size_t plain = 0, lefts = 0, rights = 0;

  /// `rank(part)`: columns of its factors, or 0. A parameter of which not all entries are packed is
  /// no matrix any more.
  template <class Rank>
  void lay_out(const Model& model, std::span<const PackedPart> parts, Rank rank) {
    matrices.clear();
    runs.clear();
    columns.clear();
    plain = lefts = rights = 0;
    for (const PackedPart& packed : parts) {
      const Part& part = model.parts()[packed.part];
      const std::size_t k = packed.size == part.size ? rank(packed.part) : 0;
      if (k == 0) {
        runs.push_back({packed.first, packed.size, plain});
        plain += packed.size;
        continue;
      }
      const std::size_t n = part.rows, m = part.size / n;
      matrices.push_back({packed.part, packed.first, n, m, k, lefts, rights});
      columns.push_back({lefts, n, k});
      lefts += n * k;
      rights += m * k;
    }
  }
};

}  // namespace pactrain

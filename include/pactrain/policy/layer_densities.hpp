// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/policy/fraction.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pactrain {

/// Densities of layers by the Erdos-Renyi-Kernel rule (Evci et al., "Rigging the lottery", ICML
/// 2020, arXiv 1911.11134): a layer's is proportional to the sum of its dimensions over their
/// product, so that narrow layers are kept denser, and together they keep 1 - `sparsity` of all
/// entries. What would exceed 1 is dense, and the rest is shared anew, the densest layers first, as
/// in the authors' code. For `.sparsity = Sparsity::from_densities(...)`. Throws
/// `PreconditionError`: a sparsity outside [0, 1), a shape without entries.
[[nodiscard]] inline std::vector<double> erk_densities(
    const std::vector<std::vector<std::size_t>>& shapes, double sparsity) {
  expects_sparsity(sparsity, "the sparsity");
  std::vector<double> raw, kept, sizes, densities(shapes.size(), 1);
  for (const auto& shape : shapes) {
    std::size_t sum = 0, size = 1;
    for (const std::size_t length : shape) {
      sum += length;
      size *= length;
    }
    expects(sum > 0 && size > 0,
            "a layer has no entries (a shape is a list of lengths, none 0); "
            "leave it out");
    sizes.push_back(static_cast<double>(size));
    raw.push_back(static_cast<double>(sum) / sizes.back());
    kept.push_back(static_cast<double>(size - fraction_of(size, sparsity)));
  }
  std::vector<bool> dense(shapes.size(), false);
  while (true) {
    double room = 0, weight = 0, steepest = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      room += dense[i] ? kept[i] - sizes[i] : kept[i];
      if (dense[i]) continue;
      weight += raw[i] * sizes[i];
      steepest = std::max(steepest, raw[i]);
    }
    if (weight == 0) return densities;
    const double scale = room / weight;
    if (scale * steepest <= 1) {
      for (std::size_t i = 0; i < raw.size(); ++i) {
        if (!dense[i]) densities[i] = scale * raw[i];
      }
      return densities;
    }
    for (std::size_t i = 0; i < raw.size(); ++i) dense[i] = dense[i] || raw[i] == steepest;
  }
}

/// The same density for each of so many layers but the first, which is kept dense: the uniform
/// alternative of the same paper.
[[nodiscard]] inline std::vector<double> uniform_densities(std::size_t layers, double sparsity) {
  expects_sparsity(sparsity, "the sparsity");
  std::vector<double> densities(layers, 1 - sparsity);
  if (layers > 0) densities[0] = 1;
  return densities;
}

}  // namespace pactrain

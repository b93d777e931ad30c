// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/options.hpp>

#include <cstddef>
#include <vector>

namespace pactrain::test {

/// The pipeline as the papers write it: dense, serial, in double, of all ranks at once, and with a
/// codec that loses nothing. With p = gradient + residual, kept entries become the mean (or sum) of
/// p over ranks, others zero; and residual = (1 - gamma) residual + gamma (p - what was conveyed).
class Oracle {
 public:
  using Vector = std::vector<double>;

  /// `gamma` 0: nothing is remembered. `drops`: what is not kept counts as zero, also in residuals.
  Oracle(int ranks, std::size_t n, Reduction reduction, double gamma, bool drops)
      : reduction_(reduction),
        gamma_(gamma),
        drops_(drops),
        residuals_(static_cast<std::size_t>(ranks), Vector(n)) {}

  /// The result of a step of which rank r has the gradient `gradients[r]`.
  Vector step(const std::vector<Vector>& gradients, const std::vector<bool>& kept) {
    const double divisor = reduction_ == Reduction::mean ? double(gradients.size()) : 1.0;
    Vector result(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
        double& residual = residuals_[rank][i];
        const double p = gradients[rank][i] + residual;
        if (kept[i]) result[i] += p;
        const double missed = kept[i] || drops_ ? 0.0 : p;
        residual = drops_ && !kept[i] ? 0.0 : (1.0 - gamma_) * residual + gamma_ * missed;
      }
      result[i] /= divisor;
    }
    return result;
  }

 private:
  Reduction reduction_;
  double gamma_;
  bool drops_;
  std::vector<Vector> residuals_;
};

}  // namespace pactrain::test

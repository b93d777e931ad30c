// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Eigen/Core>

#include <algorithm>
#include <cmath>

namespace demo {

/// The mean cross-entropy of logits, a column an example, with `label(column)` the right row of
/// each; writes its gradient by the logits before they were divided by `temperature`.
template <class Label>
double cross_entropy(const Eigen::MatrixXf& logits, Label label, Eigen::MatrixXf& error,
                     float temperature = 1) {
  error.resize(logits.rows(), logits.cols());
  const float share = 1 / static_cast<float>(logits.cols());
  double loss = 0;
  for (Eigen::Index column = 0; column < logits.cols(); ++column) {
    const Eigen::Index right = label(column);
    error.col(column) = (logits.col(column).array() - logits.col(column).maxCoeff()).exp();
    error.col(column) /= error.col(column).sum();
    loss -= std::log(std::max(error(right, column), 1e-30f));
    error(right, column) -= 1;
    error.col(column) *= share / temperature;
  }
  return loss * share;
}

/// How many columns have their largest value in the right row.
template <class Label>
std::size_t right_answers(const Eigen::MatrixXf& logits, Label label) {
  std::size_t right = 0;
  for (Eigen::Index column = 0; column < logits.cols(); ++column) {
    Eigen::Index answer = 0;
    logits.col(column).maxCoeff(&answer);
    right += answer == label(column) ? 1u : 0u;
  }
  return right;
}

}  // namespace demo

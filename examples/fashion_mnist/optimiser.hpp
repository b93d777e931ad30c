// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "parameters.hpp"

#include <cstddef>

namespace demo {

/// Stochastic gradient descent with Nesterov's momentum, and decay of weights but not of biases.
/// An entry whose weight, gradient and velocity are all zero stays exactly zero.
struct Optimiser {
  float momentum = 0.9f;
  float decay = 5e-4f;

  void operator()(Parameters& weights, const Parameters& gradient, Parameters& velocity,
                  float rate) const;
};

/// The learning rate: a straight rise over the first steps, then half a cosine down to zero.
struct LearningRate {
  double peak = 0.1;
  std::size_t rise = 100;
  std::size_t steps = 1000;

  float operator()(std::size_t step) const;
};

}  // namespace demo

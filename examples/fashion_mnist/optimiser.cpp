// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "optimiser.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace demo {

void Optimiser::operator()(Parameters& weights, const Parameters& gradient, Parameters& velocity,
                           float rate) const {
  for (std::size_t part = 0; part < weights.parts().size(); ++part) {
    const bool is_weight = weights.parts()[part].name.ends_with(".weight");
    const float fade = is_weight ? decay : 0.0f;
    float* const w = weights.parts()[part].values.data();
    float* const v = velocity.parts()[part].values.data();
    const float* const g = gradient.parts()[part].values.data();
    const std::size_t count = weights.parts()[part].values.size();
    for (std::size_t i = 0; i < count; ++i) {
      const float slope = g[i] + fade * w[i];
      v[i] = momentum * v[i] + slope;
      w[i] -= rate * (slope + momentum * v[i]);
    }
  }
}

float LearningRate::operator()(std::size_t step) const {
  if (step < rise)
    return static_cast<float>(peak * (static_cast<double>(step) + 1) / static_cast<double>(rise));
  const double done = static_cast<double>(step - rise) /
                      static_cast<double>(std::max<std::size_t>(1, steps - rise));
  return static_cast<float>(peak * 0.5 * (1 + std::cos(std::numbers::pi * done)));
}

}  // namespace demo

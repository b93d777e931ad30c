// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "network.hpp"
#include "settings.hpp"

#include <pactrain/pactrain.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace demo {

/// When and how far the network is pruned. Biases and the last layer, 0.7 % of all parameters,
/// are kept whole: little to gain there, much to lose.
inline pactrain::GradualMagnitude pruning(const Run& run, const Recipe& recipe, std::size_t steps,
                                          const Parameters& weights) {
  const auto at = [steps](double part) {
    return static_cast<std::size_t>(part * static_cast<double>(steps));
  };
  const std::size_t begin = at(recipe.prune_begin), end = at(recipe.prune_end);
  return {.weights = pactrain::Values(weights.parts()),
          .final_sparsity = run.sparsity,
          .begin = begin,
          .end = end,
          .every = std::max<std::size_t>(1, (end - begin) / recipe.prunings),
          .scope = recipe.scope,
          .exempt = {"fc1.bias", "fc2.bias", "fc3.weight", "fc3.bias"}};
}

/// Makes the reducer that a run asks for, and calls use with it.
template <class Backend, class Use>
void with_reducer(Backend& backend, const Run& run, const Recipe& recipe, std::size_t steps,
                  const Parameters& weights, Use use) {
  using namespace pactrain;
  if (run.dense) {
    DenseAllReduce<Backend> reduce{backend};
    return use(reduce);
  }
  const auto with = [&]<class Codec, class Feedback>(Codec codec, Feedback feedback) {
    SparseAllReduce<GradualMagnitude, BitMask, Backend, Codec, Feedback> reduce{
        backend, pruning(run, recipe, steps, weights), codec, feedback};
    use(reduce);
  };
  if (run.codec == "identity") return with(Identity{}, NoFeedback{});
  if (run.codec == "float16") return with(Cast<float16>{}, NoFeedback{});
  if (run.codec == "bfloat16") return with(Cast<bfloat16>{}, NoFeedback{});
  if (run.codec == "int8") return with(Int8{}, ErrorFeedback{});
  if (run.codec == "ternary")
    return with(Ternary{.clip = recipe.clip}, ErrorFeedback{.gamma = recipe.gamma});
  throw std::runtime_error("there is no codec " + run.codec);
}

}  // namespace demo

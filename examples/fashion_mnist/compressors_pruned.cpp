// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PacTrain: the network is pruned while it trains, and what survives travels packed.
#include "reducer.hpp"

#include <pactrain/pactrain.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace demo {
namespace {

using namespace pactrain;

GradualMagnitude pruning(const Task& task) {
  const auto at = [&](double part) {
    return static_cast<std::size_t>(part * static_cast<double>(task.steps));
  };
  const std::size_t begin = task.recipe.prune_from.value_or(at(task.recipe.prune_begin));
  const std::size_t end = task.recipe.prune_until.value_or(at(task.recipe.prune_end));
  return {.weights = Values(task.weights.parts()),
          .final_sparsity = task.run.sparsity,
          .begin = begin,
          .end = end,
          .every = std::max<std::size_t>(1, (end - begin) / task.recipe.prunings),
          .scope = task.recipe.scope,
          .exempt = task.network.exempt()};
}

template <class Codec, class Feedback = NoFeedback>
std::unique_ptr<Reducer> pruned(const Task& task, Codec codec, Feedback feedback = {}) {
  return reducer<SparseAllReduce<GradualMagnitude, BitMask, Backend, Codec, Feedback>>(
      task, pruning(task), codec, feedback);
}

}  // namespace

std::vector<Compressor> pruned_compressors() {
  return {
      {"pactrain", "pruned, the survivors as they are",
       [](const Task& task) { return pruned(task, Identity{}); }, 0.2},
      {"pactrain-float16", "pruned, the survivors in two bytes",
       [](const Task& task) { return pruned(task, Cast<float16>{}); }, 0.2},
      {"pactrain-bfloat16", "the same, in bfloat16",
       [](const Task& task) { return pruned(task, Cast<bfloat16>{}); }, 0.2},
      {"pactrain-int8", "pruned, the survivors in a byte, with feedback",
       [](const Task& task) { return pruned(task, Int8{}, ErrorFeedback{}); }, 0.2},
      {"pactrain-int4", "pruned, the survivors in half a byte, with feedback",
       [](const Task& task) { return pruned(task, Int4{}, ErrorFeedback{}); }, 0.2},
      {"pactrain-ternary", "pruned, the survivors as -1, 0, 1, with feedback",
       [](const Task& task) {
         return pruned(task, Ternary{.clip = task.recipe.clip},
                       ErrorFeedback{.gamma = task.recipe.gamma});
       },
       0.2},
      {"pactrain-adaptive", "pruned, dense or packed or ternary, whichever is fastest here",
       [](const Task& task) {
         return pruned(task, Adaptive<Ternary>{.codecs = {Ternary{.clip = task.recipe.clip}}},
                       ErrorFeedback{.gamma = task.recipe.gamma});
       },
       0.2},
      {"pactrain-topk", "pruned, a tenth of the survivors a step, with feedback",
       [](const Task& task) {
         return pruned(task, Gathered<TopK>{.policy = {.fraction = 0.1}}, ErrorFeedback{});
       },
       0.1},
  };
}

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Networks that are pruned by scores before they are trained, and such as move their masks.
#include "reducer.hpp"
#include "scores.hpp"

#include <pactrain/pactrain.hpp>

#include <memory>
#include <vector>

namespace demo {
namespace {

using namespace pactrain;

template <class Codec = Identity, class Feedback = NoFeedback>
std::unique_ptr<Reducer> scored(const Task& task, const std::shared_ptr<Parameters>& scores,
                                Codec codec = {}, Feedback feedback = {}) {
  auto made = reducer<SparseAllReduce<ByScore, BitMask, Backend, Codec, Feedback>>(
      task, by_score(task, *scores), codec, feedback);
  made->hold(scores);
  return made;
}

std::unique_ptr<Reducer> scored_ternary(const Task& task,
                                        const std::shared_ptr<Parameters>& scores) {
  return scored(task, scores, Ternary{.clip = task.recipe.clip},
                ErrorFeedback{.gamma = task.recipe.gamma});
}

}  // namespace

std::vector<Compressor> scored_compressors() {
  return {
      {"pactrain-snip", "pruned at the start, by SNIP's scores",
       [](const Task& task) { return scored(task, snip(task)); }, 0.2},
      {"pactrain-grasp", "pruned at the start, by GraSP's scores, as in the paper",
       [](const Task& task) { return scored(task, grasp(task)); }, 0.2},
      {"pactrain-snip-ternary",
       "the same as pactrain-snip, the survivors as -1, 0, 1, with feedback",
       [](const Task& task) { return scored_ternary(task, snip(task)); }, 0.2},
      {"pactrain-grasp-ternary", "the same as pactrain-grasp, as -1, 0, 1, with feedback",
       [](const Task& task) { return scored_ternary(task, grasp(task)); }, 0.2},
      {"pactrain-rigl", "sparse from the start, weights that move to where gradients are (RigL)",
       [](const Task& task) {
         return reducer<SparseAllReduce<RigL, BitMask, Backend>>(
             task, RigL{.weights = Values(task.weights.parts()),
                        .sparsity = task.run.sparsity,
                        .every = 50,
                        .end = task.steps * 3 / 4,
                        .exempt = task.network.exempt()});
       },
       0.2},
  };
}

}  // namespace demo

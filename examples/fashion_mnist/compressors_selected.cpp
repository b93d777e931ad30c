// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of the entries at each step, by systems of the literature that choose them otherwise.
#include "reducer.hpp"

#include <pactrain/pactrain.hpp>

#include <string>
#include <vector>

namespace demo {
namespace {

using namespace pactrain;

std::vector<std::string> vectors(const Task& task) {
  std::vector<std::string> names;
  for (const Shape& shape : task.network.shapes())
    if (shape.columns == 1) names.push_back(shape.name);
  return names;
}

template <class Policy, class Mask, class Feedback = NoFeedback>
using Sparse = SparseAllReduce<Policy, Mask, Backend, Identity, Feedback>;

}  // namespace

std::vector<Compressor> selected_compressors() {
  return {
      {"scalecom", "the largest of one rank lead all, in turn (ScaleCom), one in a hundred",
       [](const Task& task) {
         return reducer<Sparse<CyclicTopK, IndexMask, ErrorFeedback>>(
             task, CyclicTopK{.fraction = 0.01}, Identity{}, ErrorFeedback{});
       }},
      {"sidco", "above a fitted threshold (SIDCo), about one in a hundred, gathered",
       [](const Task& task) {
         return reducer<Sparse<Gathered<SIDCo>, IndexMask, ErrorFeedback>>(task,
                                                                           SIDCo{.fraction = 0.01});
       }},
      {"dgc", "above a sampled threshold, with momentum before the choice (DGC), gathered",
       [](const Task& task) {
         return reducer<Sparse<Gathered<SampledTopK>, IndexMask, MomentumFeedback>>(
             task,
             SampledTopK{.fraction = 0.01,
                         .warm_up = {0.25, 0.0625, 0.015625},
                         .warm_up_steps = task.steps / 20,
                         .exempt = vectors(task)},
             Identity{}, MomentumFeedback{.momentum = 0.9, .nesterov = true});
       },
       0, 0},
      {"randomk", "a tenth, drawn alike on all ranks, with feedback",
       [](const Task& task) {
         return reducer<Sparse<RandomK, BitMask, ErrorFeedback>>(task, RandomK{.fraction = 0.1});
       },
       0.02},
      {"randomblock", "a tenth in one block a parameter, drawn alike, with feedback",
       [](const Task& task) {
         return reducer<Sparse<RandomBlock, BitMask, ErrorFeedback>>(task,
                                                                     RandomBlock{.fraction = 0.1});
       },
       0.02},
  };
}

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Networks that are pruned by scores before they are trained, and such as move their masks.
#include "reducer.hpp"

#include <pactrain/pactrain.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace demo {
namespace {

using namespace pactrain;

const std::vector<std::string> exempt = {"fc1.bias", "fc2.bias", "fc3.weight", "fc3.bias"};

/// As many pictures of each class, of this rank's share.
std::vector<std::uint32_t> balanced_batch(const Task& task, std::size_t of_each_class,
                                          std::size_t skip) {
  const auto rank = static_cast<std::size_t>(task.backend.communicator().rank());
  const auto ranks = static_cast<std::size_t>(task.backend.communicator().size());
  const Dataset& data = task.data.train;
  std::array<std::size_t, Dataset::classes> seen{};
  std::vector<std::uint32_t> pictures;
  for (std::size_t i = rank; i < data.size(); i += ranks) {
    const std::size_t place = seen[data.label(i)]++;
    if (place < skip || place >= skip + of_each_class) continue;
    pictures.push_back(static_cast<std::uint32_t>(i));
  }
  return pictures;
}

void add(const Parameters& from, Parameters& to) {
  for (std::size_t i = 0; i < to.values().size(); ++i) to.values()[i] += from.values()[i];
}

void clear(Parameters& values) { std::ranges::fill(values.values(), 0.0f); }

/// SNIP: the gradient at the start, of one batch.
void score_by_snip(const Task& task, Parameters& scores) {
  Network network;
  Parameters gradient;
  network.backward(task.weights, task.data.train, balanced_batch(task, 25, 0), gradient);
  snip_scores(task.backend, task.weights.parts(), gradient.parts(), scores.parts());
}

/// GraSP: the Hessian's product with the gradient of both halves of the batch and of all ranks,
/// logits divided by 200, as in the authors' code.
void score_by_grasp(const Task& task, Parameters& scores) {
  constexpr float temperature = 200;
  const std::vector<std::uint32_t> halves[] = {balanced_batch(task, 13, 0),
                                               balanced_batch(task, 12, 13)};
  Network network;
  Parameters part, gradient, product;
  clear(gradient);
  clear(product);
  for (const auto& half : halves) {
    network.backward(task.weights, task.data.train, half, part, temperature);
    add(part, gradient);
  }
  all_reduce(task.backend.executor(), task.backend.communicator(), gradient.values(), Mean{});
  Parameters along;
  for (const auto& half : halves) {
    network.backward(task.weights, task.data.train, half, part, temperature);
    network.hessian_product(task.weights, gradient, temperature, along);
    add(along, product);
  }
  grasp_scores(task.backend, task.weights.parts(), product.parts(), scores.parts());
}

std::unique_ptr<Reducer> scored(const Task& task, void (*score)(const Task&, Parameters&)) {
  const auto scores = std::make_shared<Parameters>();
  score(task, *scores);
  auto made = reducer<SparseAllReduce<ByScore, BitMask, Backend>>(
      task,
      ByScore{.scores = Values(scores->parts()), .sparsity = task.run.sparsity, .exempt = exempt});
  made->hold(scores);
  return made;
}

}  // namespace

std::vector<Compressor> scored_compressors() {
  return {
      {"pactrain-snip", "pruned at the start, by SNIP's scores",
       [](const Task& task) { return scored(task, score_by_snip); }, 0.2},
      {"pactrain-grasp", "pruned at the start, by GraSP's scores, as in the paper",
       [](const Task& task) { return scored(task, score_by_grasp); }, 0.2},
      {"pactrain-rigl", "sparse from the start, weights that move to where gradients are (RigL)",
       [](const Task& task) {
         return reducer<SparseAllReduce<RigL, BitMask, Backend>>(
             task, RigL{.weights = Values(task.weights.parts()),
                        .sparsity = task.run.sparsity,
                        .every = 50,
                        .end = task.steps * 3 / 4,
                        .exempt = exempt});
       },
       0.2},
  };
}

}  // namespace demo

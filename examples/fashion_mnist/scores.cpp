// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scores.hpp"

#include "network.hpp"
#include "perceptron.hpp"

#include <pactrain/pactrain.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace demo {
namespace {

using namespace pactrain;

/// As many examples of each class, of this rank's share.
std::vector<std::uint32_t> balanced_batch(const Task& task, std::size_t of_each_class,
                                          std::size_t skip) {
  const auto rank = static_cast<std::size_t>(task.backend.communicator().rank());
  const auto ranks = static_cast<std::size_t>(task.backend.communicator().size());
  std::array<std::size_t, 10> seen{};
  std::vector<std::uint32_t> examples;
  for (std::size_t i = rank; i < task.network.train_size(); i += ranks) {
    const std::size_t place = seen[task.network.label(i)]++;
    if (place < skip || place >= skip + of_each_class) continue;
    examples.push_back(static_cast<std::uint32_t>(i));
  }
  return examples;
}

void add(const Parameters& from, Parameters& to) {
  for (std::size_t i = 0; i < to.values().size(); ++i) to.values()[i] += from.values()[i];
}

void clear(Parameters& values) { std::ranges::fill(values.values(), 0.0f); }

}  // namespace

std::shared_ptr<Parameters> snip(const Task& task) {
  auto scores = std::make_shared<Parameters>(task.network.shapes());
  Parameters gradient(task.network.shapes());
  task.network.backward(task.weights, balanced_batch(task, 25, 0), gradient);
  snip_scores(task.backend, task.weights.parts(), gradient.parts(), scores->parts());
  return scores;
}

std::shared_ptr<Parameters> grasp(const Task& task) {
  constexpr float temperature = 200;
  auto* const network = dynamic_cast<Perceptron*>(&task.network);
  if (network == nullptr)
    throw std::runtime_error(
        "GraSP's scores need a product with the Hessian, which only the perceptron has here. Take "
        "pactrain-snip, or --network perceptron.");
  const std::vector<std::uint32_t> halves[] = {balanced_batch(task, 13, 0),
                                               balanced_batch(task, 12, 13)};
  const auto nothing = [](std::size_t) {};
  const std::vector<Shape>& shapes = network->shapes();
  Parameters part(shapes), gradient(shapes), product(shapes), along(shapes);
  clear(gradient);
  clear(product);
  for (const auto& half : halves) {
    network->backward(task.weights, half, part, nothing, temperature);
    add(part, gradient);
  }
  all_reduce(task.backend.executor(), task.backend.communicator(), gradient.values(), Mean{});
  for (const auto& half : halves) {
    network->backward(task.weights, half, part, nothing, temperature);
    network->hessian_product(task.weights, gradient, temperature, along);
    add(along, product);
  }
  auto scores = std::make_shared<Parameters>(shapes);
  grasp_scores(task.backend, task.weights.parts(), product.parts(), scores->parts());
  return scores;
}

ByScore by_score(const Task& task, const Parameters& scores) {
  return {.scores = Values(scores.parts()),
          .sparsity = task.run.sparsity,
          .exempt = task.network.exempt()};
}

}  // namespace demo

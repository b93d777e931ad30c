// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/pactrain.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace demo {

/// One training, with gradients reduced by a compressor of reducer.hpp.
struct Run {
  std::string name;
  std::string compressor = "dense";
  double sparsity = 0;  // of those that prune
};

/// How the network is trained. Every run has the highest learning rate that suits it best, of 0.05,
/// 0.1, 0.2: for the dense network 0.1 (0.2 takes 0.2 points), for the pruned ones 0.2 (0.1 takes
/// 0.5 points or more).
struct Recipe {
  double rate = 0.1;  // the highest, for compressors that have none of their own
  double rise = 0.1;  // the part of all steps over which it is reached
  float momentum = 0.9f;
  float decay = 5e-4f;

  double prune_begin = 0.1;  // parts of all steps
  double prune_end = 0.6;    // the rest is for recovery, while the rate falls
  std::optional<std::size_t> prune_from, prune_until;  // steps, in place of these parts
  std::size_t prunings = 20;
  pactrain::Scope scope = pactrain::Scope::global;

  // Ternary values with feedback. Feedback of all that was missed adds noise to the scale, which
  // adds noise to the values: with TernGrad's clip of 2.5 that grows without bound.
  double clip = 1.25;
  double gamma = 0.5;
};

/// What the user asked for.
struct Settings {
  std::size_t ranks = 4;
  std::string backend = "threads";
  pactrain::Order order = pactrain::Order::rank;  // in which MPI adds
  std::string network = "perceptron";
  std::size_t epochs = 5;
  std::size_t steps = 0;           // in place of epochs
  std::size_t evaluate_every = 0;  // steps; 0: twice an epoch
  std::size_t batch = 256;         // examples a step, all workers together
  std::uint64_t seed = 1;
  std::vector<Run> runs;
  bool trace = false;          // write what the calls of each rank did
  std::filesystem::path data;  // empty: where Debian puts it
  std::filesystem::path output = "pactrain_fashion_mnist_output";
  Recipe recipe;
};

}  // namespace demo

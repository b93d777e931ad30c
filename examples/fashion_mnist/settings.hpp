// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <pactrain/pactrain.hpp>

#include "dataset.hpp"

namespace demo {

/// One training: everything reduced dense, or a network pruned while it is trained, with a codec.
struct Run {
  std::string name;
  bool dense = true;
  double sparsity = 0;
  std::string codec = "identity";
};

/// How the network is trained; the same for every run.
struct Recipe {
  double rate = 0.2;      // the highest learning rate, for a batch of 256
  double rise = 0.1;      // the part of all steps over which it is reached
  float momentum = 0.9f;
  float decay = 5e-4f;

  double prune_begin = 0.1;  // parts of all steps
  double prune_end = 0.6;
  std::size_t prunings = 20;
  pactrain::Scope scope = pactrain::Scope::global;
  double gain = 1;
  float clip = 1.25f;
  std::size_t block = 0;
  double gamma = 1.0;
  std::size_t reset = 0;
};

/// What the user asked for.
struct Settings {
  std::size_t ranks = 4;
  std::string backend = "threads";
  std::size_t epochs = 5;
  std::size_t batch = 256;  // pictures a step, all workers together
  std::uint64_t seed = 1;
  std::vector<Run> runs;
  std::filesystem::path data = default_data_directory;
  std::filesystem::path output = "pactrain_fashion_mnist_output";
  Recipe recipe;
};

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "cost.hpp"
#include "network.hpp"
#include "reducer.hpp"
#include "results.hpp"
#include "settings.hpp"
#include "stages.hpp"
#include "team.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace demo {

/// One rank of a training.
class Worker {
 public:
  /// Throws std::runtime_error where there are fewer examples than a step takes.
  Worker(Backend& backend, const Settings& settings, const Problem& problem);

  /// Trains the network from its start; every rank gets the same result. Collective.
  /// Throws std::runtime_error on all ranks where two replicas came to differ.
  Result train(const Run& run);

 private:
  Result train(const Run& run, const Compressor& by, Reducer& reducer, const Cost& prepared);
  double backward(Reducer& reducer, std::span<const std::uint32_t> examples, Stages& stages);
  void note_accuracy(const Cost& all, Result& result);
  void note_cost(const Cost& all, const Cost& steady, Result& result);
  void compare_replicas(std::size_t step, Result& result);
  double mean(double mine);

  Backend& backend_;
  const Settings& settings_;
  std::unique_ptr<Network> network_;
  std::size_t rank_, ranks_, batch_, steps_per_epoch_, steps_;
  Parameters weights_, gradient_, velocity_;
};

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "dataset.hpp"
#include "network.hpp"
#include "reducer.hpp"
#include "results.hpp"
#include "settings.hpp"
#include "team.hpp"

#include <cstddef>
#include <cstdint>

namespace demo {

/// One rank of a training.
class Worker {
 public:
  Worker(Backend& backend, const Settings& settings, const FashionMnist& data);

  /// Trains the network from its start; every rank gets the same result. Collective.
  /// Throws std::runtime_error on all ranks where two replicas came to differ.
  Result train(const Run& run);

 private:
  Result train(const Run& run, const Compressor& by, Reducer& reducer);
  void note_accuracy(std::size_t step, double sent, Result& result);
  std::uint64_t compare_replicas(std::size_t epoch);
  double mean(double mine);

  Backend& backend_;
  const Settings& settings_;
  const FashionMnist& data_;
  std::size_t rank_, ranks_, batch_, steps_per_epoch_, steps_;
  Network network_;
  Parameters weights_, gradient_, velocity_;
};

}  // namespace demo

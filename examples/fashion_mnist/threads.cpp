// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "threads.hpp"

#include "team.hpp"
#include "worker.hpp"

#include <pactrain/pactrain.hpp>

#include <utility>
#include <vector>

namespace demo {

std::vector<Result> train_on_threads(const Settings& settings, const Problem& problem) {
  std::vector<Result> results;
  const auto work = [&](pactrain::HostBackend& thread) {
    Backend backend = backend_on(std::move(thread.communicator()));
    Worker worker(backend, settings, problem);
    for (const Run& run : settings.runs) {
      Result result = worker.train(run);
      if (backend.communicator().rank() == 0) results.push_back(std::move(result));
    }
  };
  pactrain::on_threads(static_cast<int>(settings.ranks), work);
  return results;
}

}  // namespace demo

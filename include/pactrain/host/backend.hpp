// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/host/communicator.hpp>
#include <pactrain/host/executor.hpp>

#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pactrain {

/// Ranks are threads of one process, kernels are loops: no launcher, no dependency. A default
/// constructed one is a world of one rank; `on_threads` makes larger ones.
using HostBackend = BackendPair<HostExecutor, ThreadCommunicator>;

static_assert(Backend<HostBackend>);

namespace detail {
inline void on_threads(int ranks, const std::function<void(HostBackend&)>& body,
                       std::chrono::nanoseconds timeout) {
  const auto team = std::make_shared<ThreadTeam>(ranks, timeout);
  std::mutex mutex;
  std::exception_ptr first;
  const auto run = [&](int rank) {
    try {
      HostBackend backend{HostExecutor{}, ThreadCommunicator{team, rank}};
      body(backend);
      team->leave(rank);
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
      team->abort("rank " + std::to_string(rank) + " failed (its own exception says why)", rank);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int rank = 1; rank < ranks; ++rank) threads.emplace_back(run, rank);
    run(0);
  }
  if (first) std::rethrow_exception(first);
}
}  // namespace detail

/// Runs `body(backend)` on `ranks` threads, each with its own `HostBackend`, and returns when all
/// have ended. If a rank throws, the others' waits fail, and the exception of the rank that threw
/// first is thrown here. `timeout` bounds every wait for other ranks.
template <std::invocable<HostBackend&> Body>
void on_threads(int ranks, Body body, std::chrono::nanoseconds timeout = std::chrono::minutes(10)) {
  detail::on_threads(ranks, std::ref(body), timeout);
}

}  // namespace pactrain

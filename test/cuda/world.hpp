// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <host/world.hpp>

#include <pactrain/cuda/backend.cuh>

#include <chrono>
#include <utility>
#include <vector>

namespace pactrain::test {

/// Ranks that are threads and share the current GPU, each with a stream of its own.
struct CudaThreads : Threads {
  using backend_type = CudaBackendOver<ThreadCommunicator>;
  static std::vector<int> ranks() { return {1, 2, 3}; }
  template <class Body>
  static void run(int ranks, Body body, std::chrono::milliseconds timeout = patience) {
    Threads::run(
        ranks,
        [&](HostBackend& backend) {
          backend_type on_gpu{std::move(backend.communicator())};
          body(on_gpu);
        },
        timeout);
  }
};

static_assert(World<CudaThreads>);

}  // namespace pactrain::test

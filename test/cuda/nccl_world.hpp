// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <host/world.hpp>

#include <pactrain/nccl/backend.cuh>
#include <pactrain/nccl/options.hpp>

#include <cuda_runtime_api.h>

#include <chrono>
#include <vector>

namespace pactrain::test {

/// Ranks that are threads, a GPU for each; as many as there are, up to four.
struct NcclThreads : Threads {
  using backend_type = NcclBackend;
  static constexpr bool shared_fate = false;
  static constexpr bool blind = true;
  static std::vector<int> ranks() {
    int devices = 0;
    gpu::check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    std::vector<int> ranks;
    for (int n = 1; n <= devices && n <= 4; ++n) ranks.push_back(n);
    return ranks;
  }
  template <class Body>
  static void run(int ranks, Body body, std::chrono::milliseconds timeout = patience) {
    Threads::run(ranks, [&](HostBackend& host) {
      gpu::check(cudaSetDevice(host.communicator().rank()), "cudaSetDevice");
      const NcclOptions options{.timeout = timeout, .connecting = patience, .order = Order::rank};
      NcclBackend backend{NcclCommunicator::over(host.communicator(), options)};
      body(backend);
    });
  }
};

static_assert(World<NcclThreads>);

}  // namespace pactrain::test

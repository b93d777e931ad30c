// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/world.hpp>

#include <pactrain/host/backend.hpp>

#include <chrono>
#include <vector>

namespace pactrain::test {

/// Ranks that are threads.
struct Threads {
  using backend_type = HostBackend;
  static constexpr bool shared_fate = true;
  static int rank() { return 0; }
  static std::vector<int> ranks() { return {1, 2, 3, 4}; }
  template <class Body>
  static void run(int ranks, Body body, std::chrono::milliseconds timeout = patience) {
    on_threads(ranks, body, timeout);
  }
};

static_assert(World<Threads>);

}  // namespace pactrain::test

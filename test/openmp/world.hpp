// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <host/world.hpp>

#include <pactrain/openmp/backend.hpp>

#include <chrono>
#include <utility>

namespace pactrain::test {

/// Ranks that are threads, each with two threads of OpenMP's.
struct OpenMpThreads : Threads {
  using backend_type = OpenMpBackend;
  template <class Body>
  static void run(int ranks, Body body, std::chrono::milliseconds timeout = patience) {
    Threads::run(
        ranks,
        [&](HostBackend& backend) {
          OpenMpBackend with_threads{std::move(backend.communicator()), OpenMpExecutor{2}};
          body(with_threads);
        },
        timeout);
  }
};

static_assert(World<OpenMpThreads>);

}  // namespace pactrain::test

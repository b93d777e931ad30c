// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <host/world.hpp>

#include <pactrain/core/backend.hpp>
#include <pactrain/cuda/openmp_system.hpp>
#include <pactrain/cuda/serial_system.hpp>
#include <pactrain/cuda/thrust_executor.hpp>

#include <chrono>
#include <utility>

namespace pactrain::test {

using ThrustSerial = ThrustExecutor<SerialSystem>;
using ThrustOpenMp = ThrustExecutor<OpenMpSystem>;

/// Ranks that are threads, each with a system of Thrust's on the host.
template <class E>
struct ThrustThreads : Threads {
  using backend_type = BackendPair<E, ThreadCommunicator>;
  template <class Body>
  static void run(int ranks, Body body, std::chrono::milliseconds timeout = patience) {
    Threads::run(
        ranks,
        [&](HostBackend& backend) {
          backend_type with_thrust{E{}, std::move(backend.communicator())};
          body(with_thrust);
        },
        timeout);
  }
};

static_assert(World<ThrustThreads<ThrustSerial>>);

}  // namespace pactrain::test

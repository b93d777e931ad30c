// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <host/world.hpp>

#include <pactrain/kokkos/backend.hpp>

#include <Kokkos_Core.hpp>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

namespace pactrain::test {

/// The execution space that a test program is built for: one program for each.
using Space = PACTRAIN_TEST_SPACE;

/// Ranks that are threads, with kernels on `Space`; one rank where the space obeys one thread.
struct KokkosThreads : Threads {
  using backend_type = KokkosBackend<Space, ThreadCommunicator>;
  static std::vector<int> ranks() {
    return std::string_view(Space::name()) == "Threads" ? std::vector<int>{1} : Threads::ranks();
  }
  template <class Body>
  static void run(int ranks, Body body, std::chrono::milliseconds timeout = patience) {
    Threads::run(
        ranks,
        [&](HostBackend& host) {
          backend_type backend{std::move(host.communicator())};
          body(backend);
        },
        timeout);
  }
};

static_assert(World<KokkosThreads>);

}  // namespace pactrain::test

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <host/world.hpp>
#include <suite/mask.hpp>
#include <suite/mask_models.hpp>
#include <suite/plain_executor.hpp>

#include <pactrain/core/backend.hpp>
#include <pactrain/host/backend.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <utility>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// Threads whose executor has no fast path and runs kernels in an unusual order.
struct PlainThreads {
  using backend_type = BackendPair<PlainExecutor, ThreadCommunicator>;
  static constexpr bool shared_fate = Threads::shared_fate;
  static std::vector<int> ranks() { return Threads::ranks(); }
  static int rank() { return Threads::rank(); }
  template <class Body>
  static void run(int ranks, Body body, std::chrono::milliseconds timeout) {
    Threads::run(
        ranks,
        [&](HostBackend& host) {
          backend_type backend{PlainExecutor{}, std::move(host.communicator())};
          body(backend);
        },
        timeout);
  }
};

}  // namespace

TYPE_TO_STRING(PlainThreads);
TEST_CASE_TEMPLATE_INVOKE(mask::mask_suite, PlainThreads);
TEST_CASE_TEMPLATE_INVOKE(mask::mask_model_suite, PlainThreads);

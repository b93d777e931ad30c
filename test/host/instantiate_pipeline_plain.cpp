// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without any fast path, and with memory that the communicator does not reach.
#include <host/world.hpp>
#include <suite/fake_device.hpp>
#include <suite/plain_executor.hpp>
#include <suite/sparse_all_reduce.hpp>

#include <pactrain/core/host_staged.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <utility>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::reducer;

namespace {

template <Executor E, class C>
struct ThreadsWith : Threads {
  using backend_type = BackendPair<E, C>;
  template <class Body>
  static void run(int ranks, Body body, std::chrono::milliseconds timeout = patience) {
    Threads::run(
        ranks,
        [&](HostBackend& host) {
          backend_type backend{E{}, C{std::move(host.communicator())}};
          body(backend);
        },
        timeout);
  }
};
using Plain = ThreadsWith<PlainExecutor, ThreadCommunicator>;
using Device = ThreadsWith<FakeDeviceExecutor, HostStaged<ThreadCommunicator>>;

}  // namespace

TEST_CASE_TEMPLATE_INVOKE(sparse_all_reduce_suite, On<Plain, Combination<TopK, BitMask>>,
                          On<Plain, Combination<Pruned, BitMask, Ternary, ErrorFeedback>>,
                          On<Device, Combination<GradualMagnitude, IndexMask>>,
                          On<Device, Combination<Pruned, BitMask, Int8, ErrorFeedback>>);

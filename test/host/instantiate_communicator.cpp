// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <host/world.hpp>
#include <suite/communicator.hpp>
#include <suite/fake_device.hpp>

#include <pactrain/core/any_communicator.hpp>
#include <pactrain/core/backend.hpp>
#include <pactrain/core/host_staged.hpp>
#include <pactrain/host/communicator.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <utility>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// Ranks that are threads, each with a device whose memory no thread communicator reaches; that it
/// is threads is known at run time only.
struct StagedThreads : Threads {
  using backend_type = BackendPair<FakeDeviceExecutor, AnyCommunicator<FakeDeviceExecutor>>;
  template <class Body>
  static void run(int ranks, Body body, std::chrono::milliseconds timeout = patience) {
    Threads::run(
        ranks,
        [&](HostBackend& backend) {
          backend_type staged{
              FakeDeviceExecutor{},
              AnyCommunicator<FakeDeviceExecutor>(HostStaged(std::move(backend.communicator())))};
          body(staged);
        },
        timeout);
  }
};

static_assert(World<StagedThreads>);
static_assert(!Communicator<ThreadCommunicator, FakeDeviceExecutor>);

}  // namespace

TYPE_TO_STRING(Threads);
TYPE_TO_STRING(StagedThreads);
TEST_CASE_TEMPLATE_INVOKE(communicator::communicator_suite, Threads, StagedThreads);

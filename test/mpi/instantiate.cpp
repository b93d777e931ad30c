// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi/world.hpp>
#include <suite/communicator.hpp>
#include <suite/fake_device.hpp>

#include <pactrain/core/backend.hpp>
#include <pactrain/core/host_staged.hpp>
#include <pactrain/mpi/device_aware.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// Messages of a few bytes: what is beyond 2^31 elements goes the same way.
struct TinyMessages {
  static MpiOptions options() { return {.segment = 24, .message_limit = 40}; }
};
static_assert(!MpiCommunicator::reaches<DeviceSpace> &&
              DeviceAwareMpi<FakeDeviceExecutor>::reaches<DeviceSpace> &&
              !DeviceAwareMpi<FakeDeviceExecutor>::reaches<HostSpace>);
/// A device whose memory MPI does not reach.
struct StagedBackend : BackendPair<FakeDeviceExecutor, HostStaged<MpiCommunicator>> {
  StagedBackend(MPI_Comm comm, MpiOptions options)
      : BackendPair(FakeDeviceExecutor{}, HostStaged(MpiCommunicator(comm, options))) {}
};
/// A device whose memory MPI does reach.
struct AwareBackend : BackendPair<FakeDeviceExecutor, DeviceAwareMpi<FakeDeviceExecutor>> {
  AwareBackend(MPI_Comm comm, MpiOptions options)
      : BackendPair(FakeDeviceExecutor{}, DeviceAwareMpi<FakeDeviceExecutor>(comm, options)) {}
};
using Whole = MpiWorld<>;
using Cut = MpiWorld<TinyMessages>;
using Staged = MpiWorld<DefaultMessages, StagedBackend>;
using Aware = MpiWorld<TinyMessages, AwareBackend>;

}  // namespace

TYPE_TO_STRING(Whole);
TYPE_TO_STRING(Cut);
TYPE_TO_STRING(Staged);
TYPE_TO_STRING(Aware);
TEST_CASE_TEMPLATE_INVOKE(communicator::communicator_suite, Whole, Cut, Staged, Aware);

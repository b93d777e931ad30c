// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/plain_executor.hpp>

#include <pactrain/core/backend.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/host_staged.hpp>
#include <pactrain/core/memory_space.hpp>
#include <pactrain/host/backend.hpp>

#include <cstddef>

using namespace pactrain;

namespace {

static_assert(MemorySpace<HostSpace> && MemorySpace<DeviceSpace> && MemorySpace<UnifiedSpace>);
/// Its answers are no constants.
struct LooseSpace {
  bool host_accessible = true, device_accessible = false;
};
static_assert(!MemorySpace<LooseSpace> && !MemorySpace<int>);

static_assert(Executor<HostExecutor> && Executor<test::PlainExecutor>);
/// Says nowhere that its work is done.
struct NoFence : HostExecutor {
  void fence() = delete;
};
/// Buffers are of bytes, whatever is asked for.
struct ByteBuffers : HostExecutor {
  template <class T>
  HostBuffer<std::byte> make_buffer(std::size_t n) {
    return HostBuffer<std::byte>(n * sizeof(T));
  }
};
static_assert(!Executor<NoFence> && !Executor<ByteBuffers> && !Executor<int>);

/// Runs where no thread of the host can look.
struct DeviceExecutor : HostExecutor {
  using memory_space = DeviceSpace;
};
static_assert(Executor<DeviceExecutor>);
static_assert(Communicator<ThreadCommunicator, HostExecutor>);
static_assert(Communicator<ThreadCommunicator, test::PlainExecutor>);
static_assert(!Communicator<ThreadCommunicator, DeviceExecutor>);
static_assert(!Communicator<ThreadCommunicator, int>);
static_assert(Communicator<HostStaged<ThreadCommunicator>, DeviceExecutor>);
/// A test that does not tell.
struct SilentTest : ThreadCommunicator {
  void test(request& started) { ThreadCommunicator::test(started); }
};
/// Ranks are counted without a sign, which MPI and NCCL do not.
struct UnsignedRank : ThreadCommunicator {
  [[nodiscard]] unsigned rank() const { return 0; }
};
/// Nobody can make its waits end.
struct NoAbort : ThreadCommunicator {
  void abort(const char*) = delete;
};
static_assert(!Communicator<SilentTest, HostExecutor>);
static_assert(!Communicator<UnsignedRank, HostExecutor>);
static_assert(!Communicator<NoAbort, HostExecutor>);

static_assert(Backend<HostBackend>);
static_assert(Backend<BackendPair<test::PlainExecutor, ThreadCommunicator>>);
static_assert(Backend<BackendPair<DeviceExecutor, HostStaged<ThreadCommunicator>>>);
/// Hands its executor out by value: what is queued on it nobody waits for.
struct ByValue {
  using executor_type = HostExecutor;
  using communicator_type = ThreadCommunicator;
  HostExecutor executor() { return {}; }
  ThreadCommunicator& communicator();
};
static_assert(!Backend<ByValue> && !Backend<HostExecutor> && !Backend<int>);

}  // namespace

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi/world.hpp>
#include <suite/sparse_all_reduce.hpp>

#include <pactrain/core/collectives.hpp>
#include <pactrain/core/host_staged.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/kokkos/backend.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mpi/device_aware.hpp>

#include <Kokkos_Core.hpp>
#include <doctest/doctest.h>

#include <chrono>
#include <concepts>
#include <span>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::reducer;

namespace {

/// From the first call to the end of the program.
void run_kokkos() { static const Kokkos::ScopeGuard kokkos; }

/// The ranks that mpirun started, each with kernels on Kokkos, whose memory is staged as if it were
/// a device's.
struct KokkosProcesses : MpiWorld<> {
  using backend_type = KokkosBackend<PACTRAIN_TEST_SPACE, HostStaged<MpiCommunicator>>;
  template <class Body>
  static void run(int, Body body, std::chrono::milliseconds timeout) {
    run_kokkos();
    backend_type backend{MpiCommunicator{MPI_COMM_WORLD, {.timeout = timeout}}};
    body(backend);
  }
};

/// The default communicator, made as `MpiBackend` is: one word differs.
static_assert(std::constructible_from<KokkosBackend<PACTRAIN_TEST_SPACE>, MPI_Comm>);
static_assert(Backend<KokkosBackend<PACTRAIN_TEST_SPACE>>);

}  // namespace

TEST_CASE_TEMPLATE_INVOKE(
    sparse_all_reduce_suite,
    On<KokkosProcesses, Combination<Pruned, BitMask, Ternary, ErrorFeedback>>);

TEST_CASE("the default communicator is MPI") {
  run_kokkos();
  KokkosBackend<PACTRAIN_TEST_SPACE> backend{MPI_COMM_WORLD};
  std::vector<float> x(100, static_cast<float>(backend.communicator().rank()));
  all_reduce(backend.executor(), backend.communicator(), std::span(x), Mean{});
  CHECK(x == std::vector<float>(100, static_cast<float>(backend.communicator().size() - 1) / 2));
}

/// Kokkos' kernels make MPI's sums, in Kokkos' memory: the bits are the host's.
TEST_CASE("an MPI that knows the space's memory sums as on the host") {
  run_kokkos();
  using Space = PACTRAIN_TEST_SPACE;
  KokkosBackend<Space, DeviceAwareMpi<KokkosExecutor<Space>>> aware{MPI_COMM_WORLD};
  KokkosBackend<Space> host{MPI_COMM_WORLD};
  const auto check = [&]<class T>(T, auto op) {
    auto x = values_of<T>(aware.communicator().rank(), 1001), y = x;
    all_reduce(aware.executor(), aware.communicator(), std::span(x), op);
    all_reduce(host.executor(), host.communicator(), std::span(y), op);
    CHECK(same_bits(x, y));
  };
  check(1.0f, Sum{});
  check(1.0f, Mean{});
  check(1.0, Max{});
  check(bfloat16(1.0f), Mean{});
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// expect(strided): a strided View (LayoutStride) has no contiguous values; copy it into a View
// expect(const_view): a gradient is written to: pass values of type float, double, float16
// expect(out_of_reach): the communicator does not reach the executor's memory
// expect(only_declared): the communicator is only declared; include its header
// expect(no_space): KokkosExecutor runs on a Kokkos execution space, as Kokkos::Serial
#include <pactrain/kokkos/backend.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/sparse_all_reduce.hpp>

#include <Kokkos_Core.hpp>

using namespace pactrain;

using OnHost = KokkosBackend<Kokkos::DefaultHostExecutionSpace, ThreadCommunicator>;
static_assert(Backend<OnHost>);

/// Reaches devices, and nothing that the host reads.
struct DeviceCommunicator : ThreadCommunicator {
  template <MemorySpace S>
  static constexpr bool reaches = !S::host_accessible;
};

void use(OnHost& backend, const Kokkos::View<float**, Kokkos::HostSpace>& gradient) {
  SparseAllReduce<KeepAll, BitMask, OnHost> reduce{backend};
  reduce(gradient);
#ifdef strided
  reduce(Kokkos::View<float*, Kokkos::LayoutStride, Kokkos::HostSpace>());
#endif
#ifdef const_view
  reduce(Kokkos::View<const float**, Kokkos::HostSpace>(gradient));
#endif
#ifdef out_of_reach
  KokkosBackend<Kokkos::DefaultHostExecutionSpace, DeviceCommunicator>* wrong = nullptr;
  wrong->executor();
#endif
#ifdef only_declared
  KokkosBackend<Kokkos::DefaultHostExecutionSpace>* wrong = nullptr;
  wrong->executor();
#endif
#ifdef no_space
  KokkosExecutor<Kokkos::HostSpace> wrong;
#endif
}

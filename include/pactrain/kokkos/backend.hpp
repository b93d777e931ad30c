// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/host/communicator.hpp>
#include <pactrain/kokkos/executor.hpp>
#include <pactrain/kokkos/view.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pactrain {

template <Executor S>
class BasicMpiCommunicator;
using MpiCommunicator = BasicMpiCommunicator<HostExecutor>;

namespace kokkos {
/// `C` itself, if its header has been included.
template <class C>
struct Included {
  static_assert(
      requires { sizeof(C); },
      "pactrain: the communicator is only declared; include its header "
      "(MpiCommunicator: pactrain/mpi/communicator.hpp)");
  using type = C;
};
}  // namespace kokkos

/// Kernels run on a Kokkos execution space, ranks communicate by `C`: over MPI unless said
/// otherwise, with pactrain/mpi/communicator.hpp, as in `KokkosBackend<> backend{MPI_COMM_WORLD};`.
/// A host space goes with `MpiCommunicator` and `ThreadCommunicator`, a device space with
/// `HostStaged<MpiCommunicator>` or, where MPI takes pointers of the device, with
/// `DeviceAwareMpi<KokkosExecutor<Space>>`; others are refused where they are named. Constructing
/// is collective where the communicator's is.
///
/// Throws `PreconditionError` before Kokkos::initialize and after Kokkos::finalize, and for several
/// ranks that are threads on Kokkos::Threads, which obeys one thread only. It must be destroyed
/// before Kokkos::finalize.
template <class Space = Kokkos::DefaultExecutionSpace, class C = MpiCommunicator>
class KokkosBackend
    : public BackendPair<KokkosExecutor<Space>, typename kokkos::Included<C>::type> {
  using Base = BackendPair<KokkosExecutor<Space>, C>;

 public:
  /// On the space's default instance; from a communicator, or from what one is made of.
  template <class... From>
    requires std::constructible_from<C, From...>
  explicit KokkosBackend(From&&... from)
      : KokkosBackend(kokkos::default_instance<Space>(), std::forward<From>(from)...) {}
  /// On this instance of the space: work is ordered with the caller's on it.
  template <class... From>
    requires std::constructible_from<C, From...>
  explicit KokkosBackend(Space space, From&&... from)
      : Base(KokkosExecutor<Space>(std::move(space)), C(std::forward<From>(from)...)) {
    constexpr bool of_threads = std::is_same_v<C, ThreadCommunicator>;
    expects(!of_threads || this->communicator().size() == 1 ||
                std::string_view(Space::name()) != "Threads",
            "Kokkos::Threads runs kernels of the thread that initialised Kokkos only, and here "
            "ranks are threads; let ranks be processes, or take another space");
  }
};

}  // namespace pactrain

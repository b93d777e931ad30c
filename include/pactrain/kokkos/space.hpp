// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/memory_space.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <mutex>
#include <type_traits>

namespace pactrain::kokkos {

/// A Kokkos execution space whose kernels run on the host, in host memory.
template <class Space>
concept HostExecutionSpace = std::same_as<typename Space::memory_space, Kokkos::HostSpace>;

/// The memory of a Kokkos execution space, as pactrain names it.
template <class Space>
using memory_space_of = std::conditional_t<
    HostExecutionSpace<Space>, HostSpace,
    std::conditional_t<Kokkos::SpaceAccessibility<Kokkos::DefaultHostExecutionSpace,
                                                  typename Space::memory_space>::accessible,
                       UnifiedSpace, DeviceSpace>>;

/// Throws `PreconditionError` unless Kokkos runs.
inline void expect_running() {
  expects(Kokkos::is_initialized(),
          "Kokkos does not run (pactrain neither initialises nor finalises it); use what stands on "
          "it after Kokkos::initialize and before Kokkos::finalize");
}

/// The default instance of a space. Throws `PreconditionError` unless Kokkos runs.
template <class Space>
[[nodiscard]] Space default_instance() {
  expect_running();
  return Space{};
}

/// Held while a kernel is dispatched to a space: several of Kokkos' spaces share scratch memory
/// among all dispatches, so that ranks that are threads of one process take turns.
template <class Space>
inline std::mutex dispatching;

}  // namespace pactrain::kokkos

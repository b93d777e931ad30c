# SPDX-FileCopyrightText: 2026 The pactrain authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# PACTRAIN_KOKKOS_SPACES: the execution spaces of the Kokkos that was found, as C++ names them.
find_package(Kokkos REQUIRED)
set(PACTRAIN_KOKKOS_SPACES "")
foreach(space Serial OpenMP Threads Cuda HIP)
  string(TOUPPER ${space} device)
  if(device IN_LIST Kokkos_DEVICES)
    list(APPEND PACTRAIN_KOKKOS_SPACES ${space})
  endif()
endforeach()

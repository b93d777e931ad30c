// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/executor.hpp>
#include <pactrain/mpi/communicator.hpp>

namespace pactrain {

/// Over an MPI that takes pointers to the memory of executor E, a device's. That MPI does so is
/// declared by naming it: it cannot be asked in a way that all libraries answer. Copies for MPI are
/// memory of the device, and E's kernels make the sums, in rank order as on the host, bit for bit.
/// `MpiOptions::segment` is best a MiB or more, since each segment is a kernel and a wait for it.
template <Executor E>
using DeviceAwareMpi = BasicMpiCommunicator<E>;

}  // namespace pactrain

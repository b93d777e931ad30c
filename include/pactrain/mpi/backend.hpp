// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/mpi/communicator.hpp>
#include <pactrain/mpi/options.hpp>

#include <mpi.h>

#include <utility>

namespace pactrain {

/// Ranks are processes under MPI, kernels run on any executor whose memory the host reads:
/// `MpiBackendOn<OpenMpExecutor> backend{MPI_COMM_WORLD};`. Constructing is collective.
template <Executor E>
class MpiBackendOn : public BackendPair<E, MpiCommunicator> {
 public:
  explicit MpiBackendOn(MPI_Comm comm, MpiOptions options = {}, E exec = E{})
      : BackendPair<E, MpiCommunicator>(std::move(exec), MpiCommunicator(comm, options)) {}
};

/// Ranks are processes under MPI, kernels are loops: `MpiBackend backend{MPI_COMM_WORLD};`.
using MpiBackend = MpiBackendOn<HostExecutor>;

static_assert(Backend<MpiBackend>);

}  // namespace pactrain

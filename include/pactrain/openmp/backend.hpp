// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/host/communicator.hpp>
#include <pactrain/openmp/executor.hpp>

#include <utility>

namespace pactrain {

/// Kernels run on OpenMP's threads, ranks communicate by `C`: among threads of one process unless
/// said otherwise (`OpenMpBackendOver<MpiCommunicator>`, with pactrain/mpi/communicator.hpp).
template <class C>
class OpenMpBackendOver : public BackendPair<OpenMpExecutor, C> {
 public:
  explicit OpenMpBackendOver(C comm = C{}, OpenMpExecutor exec = OpenMpExecutor{})
      : BackendPair<OpenMpExecutor, C>(std::move(exec), std::move(comm)) {}
};

/// A default constructed one is a world of one rank.
using OpenMpBackend = OpenMpBackendOver<ThreadCommunicator>;

static_assert(Backend<OpenMpBackend>);

}  // namespace pactrain

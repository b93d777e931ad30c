// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/pactrain.hpp>

#include <utility>

namespace demo {

/// The ranks of this program, threads or MPI processes as a flag says: all that trains is compiled
/// once for both. A program that knows its ranks names `HostBackend` or `MpiBackend` instead.
using Backend = pactrain::BackendPair<pactrain::HostExecutor,
                                      pactrain::AnyCommunicator<pactrain::HostExecutor>>;

/// A rank of any transport.
template <class Communicator>
Backend backend_on(Communicator communicator) {
  return {pactrain::HostExecutor{},
          pactrain::AnyCommunicator<pactrain::HostExecutor>(std::move(communicator))};
}

}  // namespace demo

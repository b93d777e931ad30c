// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/world.hpp>

#include <pactrain/pactrain.hpp>

#include <chrono>
#include <functional>
#include <vector>

/// Ranks of a transport that the program chooses, so that all that is tested is compiled once.
namespace pactrain::test::contract {

using Team = BackendPair<HostExecutor, AnyCommunicator<HostExecutor>>;

/// A rank of any transport.
template <class Communicator>
Team backend_on(Communicator communicator) {
  return {HostExecutor{}, AnyCommunicator<HostExecutor>(std::move(communicator))};
}
/// `body` on each of so many threads.
inline void on_thread_team(int ranks, const std::function<void(Team&)>& body) {
  on_threads(
      ranks,
      [&](HostBackend& thread) {
        Team backend = backend_on(std::move(thread.communicator()));
        body(backend);
      },
      patience);
}

/// The numbers of ranks that this program can make, and `body` on each of so many. Where a rank is
/// a process, `body` is called for that rank alone.
[[nodiscard]] std::vector<int> team_sizes();
void on_team(int ranks, const std::function<void(Team&)>& body);

}  // namespace pactrain::test::contract

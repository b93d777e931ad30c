// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/host/communicator.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/host/thread_team.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

/// Ranks one of which sends damaged bytes.
namespace pactrain::test {

/// Which collective is damaged, counted by kind from where the communicator is armed, and which
/// byte of what is sent.
struct Damage {
  static constexpr std::size_t no_call = ~std::size_t{0};
  std::size_t all_to_all = no_call, all_gather = no_call, byte = 0;
  char bits = 1;
};

class DamagedCommunicator : public ThreadCommunicator {
 public:
  DamagedCommunicator(std::shared_ptr<ThreadTeam> team, int rank, Damage damage)
      : ThreadCommunicator(std::move(team), rank), damage_(damage) {}

  void arm() { armed_ = true; }

  template <class E, class T>
  [[nodiscard]] request start_all_gather(E& exec, std::span<const T> mine,
                                         std::span<const std::size_t> counts, std::span<T> all) {
    const auto sent = damaged(mine, damage_.all_gather);
    return ThreadCommunicator::start_all_gather(exec, std::span<const T>(sent), counts, all);
  }
  template <class E, class T>
  [[nodiscard]] request start_all_to_all(E& exec, std::span<const T> send,
                                         std::span<const std::size_t> send_counts,
                                         std::span<T> recv,
                                         std::span<const std::size_t> recv_counts) {
    const auto sent = damaged(send, damage_.all_to_all);
    return ThreadCommunicator::start_all_to_all(exec, std::span<const T>(sent), send_counts, recv,
                                                recv_counts);
  }

 private:
  /// A copy, damaged if rank 1 sends it in the call that counts down to zero.
  template <class T>
  std::vector<T> damaged(std::span<const T> sent, std::size_t& calls) {
    std::vector<T> copy(sent.begin(), sent.end());
    if (!armed_ || rank() != 1 || calls-- != 0) return copy;
    if (damage_.byte < sent.size_bytes()) {
      char& byte = reinterpret_cast<char*>(copy.data())[damage_.byte];
      byte = static_cast<char>(byte ^ damage_.bits);
    }
    return copy;
  }

  Damage damage_;
  bool armed_ = false;
};

using DamagedBackend = BackendPair<HostExecutor, DamagedCommunicator>;

/// `body(backend, rank)` on three threads, which catch what they throw.
template <class Body>
void with_damage(Damage damage, Body body) {
  const auto team = std::make_shared<ThreadTeam>(3, std::chrono::minutes(1));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      DamagedBackend backend{HostExecutor{}, DamagedCommunicator{team, rank, damage}};
      body(backend, rank);
    });
  }
}

}  // namespace pactrain::test

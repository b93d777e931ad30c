// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/host/backend.hpp>
#include <pactrain/host/communicator.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/host/thread_team.hpp>

#include <fuzz/input.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

/// One rank by itself, which hears what the others said in a run before, with damage.
namespace pactrain::test {

/// What a rank was given by each of its collectives, in the order in which they were started.
using Tape = std::vector<std::vector<std::byte>>;

/// What is changed of it: eight bytes or one, in a collective.
struct Damages {
  struct One {
    std::size_t collective = 0, offset = 0, bytes = 0;
    std::uint64_t value = 0;
    bool replaces = false;
  };
  std::vector<One> all;

  static Damages from(FuzzInput& input) {
    Damages damages;
    const std::size_t count = 1 + input.below(6);
    for (std::size_t i = 0; i < count && !input.empty(); ++i) {
      One one{input.below(64), input.take<std::uint16_t>(), input.below(2) == 0 ? 1u : 8u, 0,
              input.below(2) == 0};
      one.value = input.take<std::uint64_t>();
      damages.all.push_back(one);
    }
    return damages;
  }
  void apply(std::size_t collective, std::span<std::byte> out) const {
    for (const One& one : all) {
      if (one.collective != collective || out.size() < one.bytes) continue;
      const std::size_t places = out.size() / one.bytes;
      std::byte* const at = out.data() + one.offset % places * one.bytes;
      std::uint64_t now = 0;
      std::memcpy(&now, at, one.bytes);
      now = one.replaces ? one.value : now ^ one.value;
      std::memcpy(at, &now, one.bytes);
    }
  }
};

/// Records a tape, over threads, or plays it, alone.
class ReplayCommunicator {
  using Counts = std::span<const std::size_t>;

 public:
  template <MemorySpace S>
  static constexpr bool reaches = S::host_accessible;
  struct request {
    ThreadCommunicator::request live;
    std::span<std::byte> out;
    std::vector<std::byte> mine;  ///< this rank's own part of it, which nobody damages
    std::size_t at = 0, collective = 0;
    bool open = false;
    request() = default;
    request(request&& other) noexcept { *this = std::move(other); }
    request& operator=(request&& other) noexcept {
      live = std::move(other.live);
      out = other.out;
      mine = std::move(other.mine);
      at = other.at;
      collective = other.collective;
      open = std::exchange(other.open, false);
      return *this;
    }
  };

  ReplayCommunicator(ThreadCommunicator live, Tape& tape)
      : rank_(live.rank()), size_(live.size()), live_(std::move(live)), recorded_(&tape) {}
  ReplayCommunicator(int rank, int size, const Tape& tape, const Damages& damages)
      : rank_(rank), size_(size), played_(&tape), damages_(&damages) {}

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] std::uint64_t bytes_sent() const { return 0; }
  [[nodiscard]] std::chrono::nanoseconds timeout() const { return std::chrono::minutes(1); }
  void set_timeout(std::chrono::nanoseconds) {}

  template <class E, ReducibleValue T, class Op>
  [[nodiscard]] request start_all_reduce(E& exec, std::span<T> x, Op op) {
    return started(x, [&] { return live_->start_all_reduce(exec, x, op); });
  }
  template <class E, ReducibleValue T, class Op>
  [[nodiscard]] request start_reduce_scatter(E& exec, std::span<const T> in, std::span<T> out,
                                             Op op) {
    return started(out, [&] { return live_->start_reduce_scatter(exec, in, out, op); });
  }
  template <class E, class T>
  [[nodiscard]] request start_broadcast(E& exec, std::span<T> x, int root) {
    return started(root == rank_ ? x.first(0) : x,
                   [&] { return live_->start_broadcast(exec, x, root); });
  }
  template <class E, class T>
  [[nodiscard]] request start_all_gather(E& exec, std::span<const T> mine, Counts counts,
                                         std::span<T> all) {
    request begun = started(all, [&] { return live_->start_all_gather(exec, mine, counts, all); });
    const auto own = std::as_bytes(mine);
    begun.mine.assign(own.begin(), own.end());
    begun.at = sizeof(T) * std::accumulate(counts.begin(), counts.begin() + rank_, std::size_t{0});
    return begun;
  }
  template <class E, class T>
  [[nodiscard]] request start_all_to_all(E& exec, std::span<const T> send, Counts send_counts,
                                         std::span<T> recv, Counts recv_counts) {
    request begun = started(
        recv, [&] { return live_->start_all_to_all(exec, send, send_counts, recv, recv_counts); });
    const auto before = [&](Counts counts) {
      return std::accumulate(counts.begin(), counts.begin() + rank_, std::size_t{0});
    };
    const auto own = std::as_bytes(
        send.subspan(before(send_counts), send_counts[static_cast<std::size_t>(rank_)]));
    begun.mine.assign(own.begin(), own.end());
    begun.at = sizeof(T) * before(recv_counts);
    return begun;
  }
  bool test(request& request) {
    finish(request, Deadline::max());
    return true;
  }
  void finish(request& request, Deadline deadline) {
    if (!std::exchange(request.open, false)) return;
    if (recorded_ != nullptr) {
      live_->finish(request.live, deadline);
      (*recorded_)[request.collective].assign(request.out.begin(), request.out.end());
      return;
    }
    const auto& heard = (*played_)[std::min(request.collective, played_->size() - 1)];
    for (std::size_t i = 0; i < request.out.size(); i += heard.size() + 1) {
      const std::size_t n = std::min(heard.size(), request.out.size() - i);
      if (n != 0) std::memcpy(request.out.data() + i, heard.data(), n);
    }
    damages_->apply(request.collective, request.out);
    std::ranges::copy(request.mine, request.out.begin() + static_cast<std::ptrdiff_t>(request.at));
  }
  void abort(const std::string&) {}

 private:
  template <class T, class Start>
  request started(std::span<T> out, Start start) {
    request begun;
    begun.out = std::as_writable_bytes(out);
    begun.collective = begun_++;
    begun.open = true;
    if (recorded_ != nullptr) {
      recorded_->resize(begun_);
      begun.live = start();
    }
    return begun;
  }

  int rank_, size_;
  std::optional<ThreadCommunicator> live_;
  Tape* recorded_ = nullptr;
  const Tape* played_ = nullptr;
  const Damages* damages_ = nullptr;
  std::size_t begun_ = 0;
};

using ReplayBackend = BackendPair<HostExecutor, ReplayCommunicator>;

/// What rank `rank` of three hears when all run `body(backend)`.
template <class Body>
Tape recorded(int rank, Body body) {
  constexpr int ranks = 3;
  std::vector<Tape> tapes(ranks);
  const auto team = std::make_shared<ThreadTeam>(ranks, std::chrono::minutes(1));
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < ranks; ++r) {
      threads.emplace_back([&, r] {
        ReplayBackend backend{
            HostExecutor{},
            ReplayCommunicator(ThreadCommunicator(team, r), tapes[static_cast<std::size_t>(r)])};
        body(backend);
      });
    }
  }
  return tapes[static_cast<std::size_t>(rank)];
}

}  // namespace pactrain::test

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/fuse.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/host/rank_order.hpp>
#include <pactrain/host/thread_team.hpp>
#include <pactrain/kernel/bits.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace pactrain {

/// Ranks that are threads of one process. Sums are made in rank order, each rank its share; bytes
/// are counted as a message-passing transport would send them. Started operations progress in
/// `test` and `finish`, on the caller's thread.
class ThreadCommunicator {
 public:
  template <MemorySpace S>
  static constexpr bool reaches = S::host_accessible;

  /// A started collective. Must be finished, or the communicator aborted, before it is dropped.
  class request {
   public:
    request() = default;
    request(request&& other) noexcept { *this = std::move(other); }
    request& operator=(request&& other) noexcept {
      operation_ = std::exchange(other.operation_, nullptr);
      reduce_ = other.reduce_;
      deliver_ = other.deliver_;
      out_ = other.out_;
      bytes_ = other.bytes_;
      root_ = other.root_;
      return *this;
    }

   private:
    friend class ThreadCommunicator;
    ThreadOperation* operation_ = nullptr;  ///< null when finished
    void (*reduce_)(ThreadOperation&, int share, int ranks) = nullptr;
    void (*deliver_)(const ThreadOperation&, const request&, int rank, int ranks) = nullptr;
    std::byte* out_ = nullptr;
    std::size_t bytes_ = 0, root_ = 0;
  };

  /// A world of its own: one rank.
  ThreadCommunicator() : ThreadCommunicator(std::make_shared<ThreadTeam>(1), 0) {}
  /// Rank `rank` of a team; one communicator a rank.
  ThreadCommunicator(std::shared_ptr<ThreadTeam> team, int rank)
      : team_(std::move(team)), rank_(rank), timeout_(team_->timeout()) {
    expects(rank >= 0 && rank < team_->size(), "the rank is not one of the team's");
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return team_->size(); }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }
  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return timeout_; }
  void set_timeout(std::chrono::nanoseconds timeout) { timeout_ = checked_timeout(timeout); }

  template <class E, ReducibleValue T, class Op>
  [[nodiscard]] request start_all_reduce(E& exec, std::span<T> x, Op) {
    request started =
        post(exec, "all_reduce", value_type<T>, x.size(), as_const_span(x), number_of<Op>);
    started.reduce_ = [](ThreadOperation& operation, int owner, int ranks) {
      const std::size_t n = operation.seats[0].bytes / sizeof(T);
      const Share share = share_of(n, owner, ranks);
      reduce_share<T>(operation, share, ranks, Op{},
                      operation.result.template view<T>(n).data() + share.begin);
    };
    started.deliver_ = [](const ThreadOperation& operation, const request& self, int, int) {
      copy(operation.result.view<std::byte>(self.bytes_).data(), self.bytes_, self.out_);
    };
    deliver_to(started, x);
    count_shares<T>(x.size(), true);
    return started;
  }

  template <class E, class T>
  [[nodiscard]] request start_broadcast(E& exec, std::span<T> x, int root) {
    expects(root >= 0 && root < size(),
            "the root of a broadcast is no rank; name one of the ranks");
    const bool mine = rank_ == root;
    request started =
        post(exec, "broadcast", sizeof(T), x.size(), mine ? as_const_span(x) : std::span<const T>{},
             static_cast<std::uint64_t>(root));
    started.deliver_ = [](const ThreadOperation& operation, const request& self, int, int) {
      copy(operation.seats[self.root_].staging.view<std::byte>(self.bytes_).data(), self.bytes_,
           self.out_);
    };
    deliver_to(started, x);
    started.root_ = static_cast<std::size_t>(root);
    if (mine) count(x.size_bytes(), size() - 1);
    return started;
  }

  template <class E, class T>
  [[nodiscard]] request start_all_gather(E& exec, std::span<const T> mine,
                                         std::span<const std::size_t> counts, std::span<T> all) {
    expects(counts.size() == static_cast<std::size_t>(size()) &&
                counts[static_cast<std::size_t>(rank_)] == mine.size() &&
                std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == all.size(),
            "all_gather needs a count for each rank, this rank's its own size, all their sum");
    request started = post(exec, "all_gather", sizeof(T), hash(counts), mine);
    started.deliver_ = [](const ThreadOperation& operation, const request& self, int, int) {
      std::byte* out = self.out_;
      for (const auto& seat : operation.seats) {
        copy(seat.staging.template view<std::byte>(seat.bytes).data(), seat.bytes, out);
        out += seat.bytes;
      }
    };
    deliver_to(started, all);
    count(mine.size_bytes(), size() - 1);
    return started;
  }

  template <class E, ReducibleValue T, class Op>
  [[nodiscard]] request start_reduce_scatter(E& exec, std::span<const T> in, std::span<T> out, Op) {
    expects(out.size() == share_of(in.size(), rank_, size()).size(),
            "reduce_scatter writes share_of(in.size(), rank, size) entries");
    request started = post(exec, "reduce_scatter", value_type<T>, in.size(), in, number_of<Op>);
    started.deliver_ = [](const ThreadOperation& operation, const request& self, int rank,
                          int ranks) {
      const Share share = share_of(operation.seats[0].bytes / sizeof(T), rank, ranks);
      reduce_share<T>(operation, share, ranks, Op{}, reinterpret_cast<T*>(self.out_));
    };
    deliver_to(started, out);
    count_shares<T>(in.size(), false);
    return started;
  }

  template <class E, class T>
  [[nodiscard]] request start_all_to_all(E& exec, std::span<const T> send,
                                         std::span<const std::size_t> send_counts,
                                         std::span<T> recv,
                                         std::span<const std::size_t> recv_counts) {
    const auto fit = [&](std::span<const std::size_t> counts, std::size_t all) {
      return counts.size() == static_cast<std::size_t>(size()) &&
             std::accumulate(counts.begin(), counts.end(), std::size_t{0}) == all;
    };
    expects(fit(send_counts, send.size()) && fit(recv_counts, recv.size()),
            "all_to_all needs two counts for each rank, their sums the sizes of send and recv");
    request started = post(exec, "all_to_all", sizeof(T), 0, send, 0, send_counts);
    started.deliver_ = [](const ThreadOperation& operation, const request& self, int rank, int) {
      std::byte* out = self.out_;
      for (const auto& seat : operation.seats) {
        std::size_t before = 0;
        for (int r = 0; r < rank; ++r) before += seat.counts[static_cast<std::size_t>(r)];
        const std::size_t bytes = seat.counts[static_cast<std::size_t>(rank)] * sizeof(T);
        if (bytes > static_cast<std::size_t>(self.out_ + self.bytes_ - out)) {
          throw RankMismatch(
              "pactrain: all_to_all brings more entries than recv_counts allows; make "
              "each send count the receiver's count",
              rank, "size");
        }
        copy(seat.staging.template view<std::byte>(seat.bytes).data() + before * sizeof(T), bytes,
             out);
        out += bytes;
      }
    };
    deliver_to(started, recv);
    const std::size_t own = send_counts[static_cast<std::size_t>(rank_)];
    count((send.size() - own) * sizeof(T), 1);
    return started;
  }

  bool test(request& started) {
    return progress(started, [](const auto&...) { return false; });
  }

  void finish(request& started, Deadline deadline) {
    progress(started, [&](const ThreadOperation& operation, int ThreadOperation::* count) {
      team_->wait(operation, count, deadline);
      return true;
    });
  }

  /// Every rank's waits fail, now and later.
  void abort(const std::string& why) {
    team_->abort("rank " + std::to_string(rank_) + " gave up: " + why, rank_);
  }

 private:
  template <class Op>
  static constexpr std::uint64_t number_of = std::same_as<Op, Sum>    ? 0
                                             : std::same_as<Op, Mean> ? 1
                                                                      : 2;
  template <class E, class T, class Kind>
  request post(E& exec, const char* name, Kind kind, std::uint64_t count, std::span<const T> in,
               std::uint64_t choice = 0, std::span<const std::size_t> counts = {}) {
    static_assert(std::is_trivially_copyable_v<T>);
    exec.fence();
    request started;
    fuse_.guarded([&] {
      started.operation_ =
          &team_->open(rank_, {name, static_cast<std::uint64_t>(kind), count, choice});
    });
    auto& seat = started.operation_->seats[static_cast<std::size_t>(rank_)];
    seat.bytes = in.size_bytes();
    copy(in.data(), seat.bytes, team_->take(seat.staging, rank_, seat.bytes).data());
    seat.counts.assign(counts.begin(), counts.end());
    if (rank_ == 0) (void)team_->take(started.operation_->result, rank_, seat.bytes);
    team_->post(*started.operation_, rank_);
    return started;
  }
  template <class T>
  static void deliver_to(request& started, std::span<T> out) {
    started.out_ = reinterpret_cast<std::byte*>(out.data());
    started.bytes_ = out.size_bytes();
  }

  /// Runs the phases that are due; `wait(operation, count)` is asked where one is not.
  template <class Wait>
  bool progress(request& started, Wait wait) {
    if (started.operation_ == nullptr) return true;
    return fuse_.guarded([&] { return progress_with(started, wait); });
  }
  template <class Wait>
  bool progress_with(request& started, Wait wait) {
    ThreadOperation& operation = *started.operation_;
    const auto reached = [&](int ThreadOperation::* count) {
      return team_->ready(operation, count) || wait(operation, count);
    };
    if (!reached(&ThreadOperation::posted)) return false;
    if (started.reduce_ != nullptr) {
      for (int share = team_->claim(operation); share >= 0; share = team_->claim(operation)) {
        started.reduce_(operation, share, size());
        team_->reduced(operation);
      }
      if (!reached(&ThreadOperation::reduced)) return false;
    }
    started.deliver_(operation, started, rank_, size());
    started.operation_ = nullptr;
    team_->done(operation, rank_);
    return true;
  }
  template <class T, class Op>
  static void reduce_share(const ThreadOperation& operation, Share share, int ranks, Op op,
                           T* out) {
    const auto contribution = [&](int rank) {
      const auto& seat = operation.seats[static_cast<std::size_t>(rank)];
      return seat.staging.template view<T>(seat.bytes / sizeof(T)).data() + share.begin;
    };
    reduce_in_rank_order<T>(share.size(), ranks, contribution, op, out);
  }
  static void copy(const void* from, std::size_t bytes, void* to) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  static std::uint64_t hash(std::span<const std::size_t> counts) {
    std::uint64_t sum = counts.size();
    for (std::size_t i = 0; i < counts.size(); ++i) sum += kernel::mix(counts[i], i);
    return sum;
  }
  void count(std::size_t bytes, int times) {
    bytes_sent_ += bytes * static_cast<std::uint64_t>(times);
  }
  /// Others' shares go out to them; where the result is gathered, the own share to all others.
  template <class T>
  void count_shares(std::size_t n, bool gathered) {
    const std::size_t own = share_of(n, rank_, size()).size();
    count((n - own) * sizeof(T), 1);
    if (gathered) count(own * sizeof(T), size() - 1);
  }

  std::shared_ptr<ThreadTeam> team_;
  int rank_;
  std::chrono::nanoseconds timeout_;
  std::uint64_t bytes_sent_ = 0;
  Fuse fuse_;
};

static_assert(Communicator<ThreadCommunicator, HostExecutor>);

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/host/executor.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace pactrain {

/// What a collective is; all ranks must call the same one.
struct ThreadCall {
  std::string_view name;
  std::uint64_t element = 0;  ///< value type, or bytes per element
  std::uint64_t count = 0;    ///< entries, or a hash of the counts
  std::uint64_t choice = 0;   ///< the root of a broadcast, the operator of a reduction
  friend bool operator==(const ThreadCall&, const ThreadCall&) = default;
};

/// A collective under way among threads. Contributions are copied into it, so that a rank that
/// gives up leaves nothing behind that another one still reads.
struct ThreadOperation {
  struct Seat {
    bool posted = false, done = false;
    Scratch<HostExecutor> staging;
    std::size_t bytes = 0;
    std::vector<std::size_t> counts;  ///< elements for each rank, of an all-to-all
  };
  ThreadCall call;
  std::vector<Seat> seats;
  Scratch<HostExecutor> result;
  int posted = 0, claimed = 0, reduced = 0, done = 0;
};

/// What the ranks of one process share: collectives under way, and who has left or failed.
///
/// Operations are used in turn, so that where memory grows depends on what is called and not on the
/// threads' pace. A rank that opens one while its oldest unfinished one lies `span` back has
/// finished all before that; so all others have opened those, and have finished what lies as far
/// back again: 2 span operations are never all in use.
class ThreadTeam {
 public:
  explicit ThreadTeam(int size, std::chrono::nanoseconds timeout = std::chrono::minutes(10))
      : size_(size),
        timeout_(timeout),
        next_(static_cast<std::size_t>(size)),
        largest_(static_cast<std::size_t>(size)),
        left_(static_cast<std::size_t>(size)) {
    expects(size > 0, "a team needs at least one rank");
  }

  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return timeout_; }

  /// The next collective of `rank`, where its contribution is to be put.
  ThreadOperation& open(int rank, const ThreadCall& call) {
    const std::lock_guard lock(mutex_);
    throw_failure(call);
    const std::size_t sequence = next_[static_cast<std::size_t>(rank)]++ - retired_;
    const auto unfinished = [&](const auto& each) {
      return !each->seats[static_cast<std::size_t>(rank)].done;
    };
    const auto oldest = std::find_if(active_.begin(), active_.end(), unfinished);
    const auto span = sequence + 1 - static_cast<std::size_t>(oldest - active_.begin());
    while (active_.size() + idle_.size() < 2 * span) idle_.push_back(fresh());
    if (sequence == active_.size()) begin(call);
    ThreadOperation& operation = *active_[sequence];
    if (!(operation.call == call)) refuse(operation, rank, call);
    return operation;
  }
  /// Memory for `bytes` of `rank`'s, at least as much as it has ever asked for.
  std::span<std::byte> take(Scratch<HostExecutor>& scratch, int rank, std::size_t bytes) {
    HostExecutor host;
    std::size_t& largest = largest_[static_cast<std::size_t>(rank)];
    largest = std::max(largest, bytes);
    return scratch.template take<std::byte>(host, largest).first(bytes);
  }
  /// The contribution is complete.
  void post(ThreadOperation& operation, int rank) {
    const std::lock_guard lock(mutex_);
    operation.seats[static_cast<std::size_t>(rank)].posted = true;
    if (++operation.posted == size_) changed_.notify_all();
  }
  /// The next share of the reduction that nobody has taken on, or -1. Whoever waits works, so a
  /// reduction never depends on a rank that is busy elsewhere.
  int claim(ThreadOperation& operation) {
    const std::lock_guard lock(mutex_);
    return operation.claimed < size_ ? operation.claimed++ : -1;
  }
  void reduced(ThreadOperation& operation) {
    const std::lock_guard lock(mutex_);
    if (++operation.reduced == size_) changed_.notify_all();
  }
  /// `rank` needs the operation no more; the last one gives it back for the next.
  void done(ThreadOperation& operation, int rank) {
    const std::lock_guard lock(mutex_);
    operation.seats[static_cast<std::size_t>(rank)].done = true;
    ++operation.done;
    while (!active_.empty() && active_.front()->done == size_) {
      idle_.push_back(std::move(active_.front()));
      active_.erase(active_.begin());
      ++retired_;
    }
  }

  /// Has the count reached the team's size? Throws where it cannot any more.
  bool ready(const ThreadOperation& operation, int ThreadOperation::* count) {
    const std::lock_guard lock(mutex_);
    return operation.*count == size_ || (check(operation, count), false);
  }
  /// Waits for it until `deadline`.
  void wait(const ThreadOperation& operation, int ThreadOperation::* count, Deadline deadline) {
    std::unique_lock lock(mutex_);
    while (operation.*count != size_) {
      check(operation, count);
      if (changed_.wait_until(lock, deadline) == std::cv_status::timeout &&
          operation.*count != size_) {
        fail(DeadlineExceeded::of(std::string(operation.call.name), missing(operation)));
        throw_failure(operation.call);
      }
    }
  }

  /// `rank` has ended; whoever waits for it hears of it.
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    left_[static_cast<std::size_t>(rank)] = true;
    changed_.notify_all();
  }
  /// Every wait of the team, now and later, fails with `why`; `lost` is the rank that failed, if
  /// one did.
  void abort(const std::string& why, int lost = -1) {
    const std::lock_guard lock(mutex_);
    fail(PeerLost("pactrain: " + why, {}, lost));
  }

 private:
  std::unique_ptr<ThreadOperation> fresh() {
    auto operation = std::make_unique<ThreadOperation>();
    operation->seats.resize(static_cast<std::size_t>(size_));
    active_.reserve(active_.size() + idle_.size() + 1);
    idle_.reserve(active_.size() + idle_.size() + 1);
    return operation;
  }
  /// Makes the operation that has been idle for the longest the youngest active one.
  void begin(const ThreadCall& call) {
    active_.push_back(std::move(idle_.front()));
    idle_.erase(idle_.begin());
    ThreadOperation& operation = *active_.back();
    operation.call = call;
    operation.posted = operation.claimed = operation.reduced = operation.done = 0;
    for (auto& seat : operation.seats) seat.posted = seat.done = false;
  }
  using Failure = std::variant<PeerLost, DeadlineExceeded, RankMismatch>;
  void fail(Failure why) {
    if (!failure_) failure_ = std::move(why);
    changed_.notify_all();
  }
  /// Each rank gets a copy, to which it may add where it was.
  void throw_failure(const ThreadCall& call) const {
    const auto throw_copy = [&](auto error) {
      if constexpr (requires { error.in_operation(""); }) {
        error.in_operation(std::string(call.name));
      }
      throw error;
    };
    if (failure_) std::visit(throw_copy, *failure_);
  }
  void check(const ThreadOperation& operation, int ThreadOperation::*) {
    throw_failure(operation.call);
    for (std::size_t rank = 0; rank < left_.size(); ++rank) {
      if (left_[rank] && !operation.seats[rank].posted) {
        const std::string name(operation.call.name);
        fail(PeerLost("pactrain: rank " + std::to_string(rank) + " ended before " + name +
                          " (the other ranks wait for it); make every rank call as often",
                      name, static_cast<int>(rank)));
        throw_failure(operation.call);
      }
    }
  }
  void refuse(const ThreadOperation& operation, int rank, const ThreadCall& call) {
    const char* field = operation.call.name != call.name         ? "operation"
                        : operation.call.element != call.element ? "value type"
                        : operation.call.choice != call.choice   ? "root or operator"
                                                                 : "size";
    fail(RankMismatch("pactrain: rank " + std::to_string(rank) + " called " +
                          std::string(call.name) + " where other ranks called " +
                          std::string(operation.call.name) + ", with another " + field +
                          "; make all ranks call alike",
                      rank, field));
    throw_failure(call);
  }
  /// None where all came, and some do not progress.
  static std::vector<int> missing(const ThreadOperation& operation) {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < operation.seats.size(); ++rank) {
      if (!operation.seats[rank].posted) ranks.push_back(static_cast<int>(rank));
    }
    return ranks;
  }

  const int size_;
  const std::chrono::nanoseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<ThreadOperation>> active_, idle_;  ///< in order of use
  std::vector<std::size_t> next_, largest_;
  std::size_t retired_ = 0;
  std::vector<bool> left_;
  std::optional<Failure> failure_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/fuse.hpp>
#include <pactrain/nccl/error.hpp>

#include <nccl.h>

#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>

namespace pactrain::nccl {

/// A communicator of NCCL's, owned or the caller's, and whether it is still of use. An owned one
/// does not block: whatever waits for other ranks is polled against a deadline, and aborted when
/// that passes. A borrowed one is never aborted or destroyed here. Neither moved nor copied.
class Link {
 public:
  /// Collective: connects to the other ranks of `id`, on the current device.
  Link(ncclUniqueId id, int rank, int size, std::chrono::nanoseconds timeout)
      : rank_(rank), size_(size), owned_(true) {
    expects(size > 0 && rank >= 0 && rank < size, "the rank is not one of the communicator's");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    try {
      check(ncclCommInitRankConfig(&comm_, size, id, rank, &config), "ncclCommInitRankConfig");
      settle("connecting", after(timeout));
    } catch (...) {
      end();
      throw;
    }
  }
  /// The caller's, which must outlive the link.
  explicit Link(ncclComm_t comm) : comm_(comm) {
    expects(comm != nullptr, "the communicator is null; make it with ncclCommInitRank first");
    check(ncclCommUserRank(comm, &rank_), "ncclCommUserRank");
    check(ncclCommCount(comm, &size_), "ncclCommCount");
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  /// Leaves together with the other ranks, or without them if they do not leave within a second.
  ~Link() {
    if (!owned_ || comm_ == nullptr) return;
    ncclResult_t state = ncclCommFinalize(comm_);
    const Deadline deadline = after(std::chrono::seconds(1));
    while (state == ncclInProgress && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
      if (ncclCommGetAsyncError(comm_, &state) != ncclSuccess) break;
    }
    static_cast<void>(state == ncclSuccess ? ncclCommDestroy(comm_) : ncclCommAbort(comm_));
  }

  [[nodiscard]] ncclComm_t comm() const noexcept { return comm_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  static Deadline after(std::chrono::nanoseconds timeout) {
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout);
  }

  /// Calls `f`, unless an earlier call failed; if it throws, all later ones fail, and what an owned
  /// communicator has under way is ended, so that no stream waits for it for ever.
  template <class F>
  decltype(auto) guarded(F f) {
    try {
      return fuse_.guarded(f);
    } catch (const PreconditionError&) {
      throw;
    } catch (...) {
      end();
      throw;
    }
  }
  /// Calls `calls(comm)`, which makes several calls of NCCL, as one group; returns when NCCL has
  /// queued them, which it may do only when other ranks have come.
  template <class Calls>
  void group(const char* name, Deadline deadline, Calls calls) {
    check(ncclGroupStart(), "ncclGroupStart");
    try {
      calls(comm_);
    } catch (...) {
      static_cast<void>(ncclGroupEnd());
      throw;
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
    settle(name, deadline);
  }
  /// Throws what NCCL has noticed by now.
  void look(const char* name) {
    const ncclResult_t now = state();
    if (now == ncclSuccess || now == ncclInProgress) return;
    const std::string message = std::string("pactrain: ") + name + " failed with NCCL's code " +
                                std::to_string(static_cast<int>(now)) + " (" + text_of(now, comm_) +
                                ")";
    if (now == ncclRemoteError) {
      throw PeerLost(message + "; another rank has ended or failed", name);
    }
    throw BackendError(message);
  }
  /// Throws the error of a wait for `name` that has reached its deadline.
  [[noreturn]] static void expire(const char* name) {
    throw DeadlineExceeded(
        std::string("pactrain: ") + name +
            " reached its deadline (a rank has not come, or has called something "
            "else; NCCL does not say which); look at the other ranks for the "
            "cause, or set a longer timeout",
        name);
  }
  void abort(const std::string& why) {
    fuse_.abort(why);
    end();
  }

 private:
  ncclResult_t state() const {
    ncclResult_t now = ncclSuccess;
    check(ncclCommGetAsyncError(comm_, &now), "ncclCommGetAsyncError");
    return now;
  }
  void settle(const char* name, Deadline deadline) {
    while (state() == ncclInProgress) {
      if (std::chrono::steady_clock::now() >= deadline) expire(name);
      std::this_thread::yield();
    }
    look(name);
  }
  void end() noexcept {
    if (owned_ && comm_ != nullptr) {
      static_cast<void>(ncclCommAbort(std::exchange(comm_, nullptr)));
    }
  }

  ncclComm_t comm_ = nullptr;
  int rank_ = 0, size_ = 1;
  bool owned_ = false;
  Fuse fuse_;
};

}  // namespace pactrain::nccl

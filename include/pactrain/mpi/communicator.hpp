// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/memory_space.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/kernel/rank_order.hpp>
#include <pactrain/mpi/datatype.hpp>
#include <pactrain/mpi/operation.hpp>
#include <pactrain/mpi/options.hpp>
#include <pactrain/mpi/pool.hpp>
#include <pactrain/mpi/schedule.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace pactrain {

/// Ranks that are processes under MPI (3.1 or later), on a duplicate of the caller's communicator.
/// It neither initialises nor finalises MPI, nor aborts it. For one thread at a time. MPI
/// progresses in `test` and `finish`, which advance all started operations: ranks may finish them
/// in different orders.
///
/// Sums: each rank receives its slice from all, adds in rank order and sends the result to all. MPI
/// reads and writes copies only, up to three times the vector, which are kept for the next call: an
/// expired wait leaves the caller's memory alone. `bytes_sent` counts what is handed to MPI for
/// other ranks; an all-reduce under `Order::vendor` counts as in rank order, on average 2(P-1)/P of
/// the vector. A world of one rank sends no message and copies nothing that is in place. The copies
/// are memory of executor S, which sums and copies: `MpiCommunicator` is the one of the host,
/// `DeviceAwareMpi<E>` one of a device. S must be destroyed before what it runs on is (its
/// communicator with it).
///
/// Errors: `DeadlineExceeded` names the ranks awaited; `RankMismatch` where a message has another
/// size than expected; `BackendError` for what MPI reports. They are raised where they are noticed,
/// not on every rank, and this rank's communicator is unusable from then on.
template <Executor S>
class BasicMpiCommunicator {
 public:
  template <MemorySpace M>
  static constexpr bool reaches = (M::host_accessible && S::memory_space::host_accessible) ||
                                  (M::device_accessible && S::memory_space::device_accessible);

  /// A started collective. One that is dropped unfinished keeps its staging until the communicator
  /// goes.
  class request {
   public:
    request() = default;
    request(request&& other) noexcept { *this = std::move(other); }
    request& operator=(request&& other) noexcept {
      operation_ = std::exchange(other.operation_, nullptr);
      result_ = other.result_;
      out_ = other.out_;
      divide_ = other.divide_;
      return *this;
    }

   private:
    friend class BasicMpiCommunicator;
    template <class T>
    request(mpi::Operation<S>& operation, std::byte* result, std::span<T> out)
        : operation_(&operation), result_(result), out_(std::as_writable_bytes(out)) {}

    mpi::Operation<S>* operation_ = nullptr;  ///< null when finished
    std::byte* result_ = nullptr;             ///< in the staging
    std::span<std::byte> out_;
    void (*divide_)(S& exec, std::byte* result, std::size_t bytes, int ranks) = nullptr;
  };

  /// Collective over `comm`, which stays the caller's. Throws `PreconditionError` before MPI_Init,
  /// after MPI_Finalize and for options that cannot work.
  explicit BasicMpiCommunicator(MPI_Comm comm, MpiOptions options = {}, S exec = S{})
      : options_(mpi::checked(options)), pool_(comm, options_.farewell, std::move(exec)) {}

  [[nodiscard]] int rank() const noexcept { return pool_.link().rank(); }
  [[nodiscard]] int size() const noexcept { return pool_.link().size(); }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return pool_.link().bytes_sent; }
  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return options_.timeout; }

  void set_timeout(std::chrono::nanoseconds timeout) {
    options_.timeout = checked_timeout(timeout);
  }

  template <class E, ReducibleValue T, class Op>
  [[nodiscard]] request start_all_reduce(E& exec, std::span<T> x, Op op) {
    return start(exec, [&] {
      if (size() == 1) return request{};
      if constexpr (mpi::Summable<T>) {
        if (options_.order == Order::vendor) return start_vendor(x, op);
      }
      const std::size_t n = x.size(), bytes = Schedule::padded(x.size_bytes());
      const Share own = Schedule::template slice<T>(n, rank(), pool_.link());
      mpi::Operation<S>& operation =
          pool_.open("all_reduce", segment<T>(),
                     2 * bytes + Schedule::template contributions<T>(n, pool_.link()));
      std::byte *const in = operation.staging(), *const out = in + bytes;
      copy(x.data(), x.size_bytes(), in);
      Schedule schedule(operation, pool_.link());
      schedule.template reduce_slice<T>(n, in, out + bytes, out + own.begin, op);
      schedule.template gather_slices<T>(n, out);
      operation.begin();
      return request(operation, out, x);
    });
  }

  template <class E, class T>
  [[nodiscard]] request start_broadcast(E& exec, std::span<T> x, int root) {
    static_assert(std::is_trivially_copyable_v<T>);
    expects(root >= 0 && root < size(),
            "the root of a broadcast is no rank; name one of the ranks");
    return start(exec, [&] {
      if (size() == 1) return request{};
      mpi::Operation<S>& operation =
          pool_.open("broadcast", options_.message_limit, x.size_bytes());
      if (rank() == root) copy(x.data(), x.size_bytes(), operation.staging());
      Schedule(operation, pool_.link()).broadcast(operation.staging(), x.size_bytes(), root);
      operation.begin();
      return request(operation, operation.staging(), rank() == root ? x.first(0) : x);
    });
  }

  template <class E, class T>
  [[nodiscard]] request start_all_gather(E& exec, std::span<const T> mine,
                                         std::span<const std::size_t> counts, std::span<T> all) {
    static_assert(std::is_trivially_copyable_v<T>);
    expects(one_a_rank(counts) && Schedule::at(counts, rank()) == mine.size() &&
                Schedule::sum(counts, size()) == all.size(),
            "all_gather needs a count for each rank, this rank's its own size, all their sum");
    return start(exec, [&] {
      if (size() == 1) return copied(mine, all);
      mpi::Operation<S>& operation =
          pool_.open("all_gather", options_.message_limit, all.size_bytes());
      std::byte* const staging = operation.staging();
      copy(mine.data(), mine.size_bytes(), staging + sizeof(T) * Schedule::sum(counts, rank()));
      Schedule(operation, pool_.link()).gather(staging, counts, sizeof(T));
      operation.begin();
      return request(operation, staging, all);
    });
  }

  template <class E, ReducibleValue T, class Op>
  [[nodiscard]] request start_reduce_scatter(E& exec, std::span<const T> in, std::span<T> out,
                                             Op op) {
    const std::size_t n = in.size(), bytes = Schedule::padded(in.size_bytes());
    expects(out.size() == share_of(n, rank(), size()).size(),
            "reduce_scatter writes share_of(in.size(), rank, size) entries");
    return start(exec, [&] {
      if (size() == 1) return copied(in, out);
      const std::size_t received = Schedule::template contributions<T>(n, pool_.link());
      mpi::Operation<S>& operation =
          pool_.open("reduce_scatter", segment<T>(), bytes + received + out.size_bytes());
      std::byte *const staging = operation.staging(), *const result = staging + bytes + received;
      copy(in.data(), in.size_bytes(), staging);
      Schedule(operation, pool_.link())
          .template reduce_slice<T>(n, staging, staging + bytes, result, op);
      operation.begin();
      return request(operation, result, out);
    });
  }

  template <class E, class T>
  [[nodiscard]] request start_all_to_all(E& exec, std::span<const T> send,
                                         std::span<const std::size_t> send_counts,
                                         std::span<T> recv,
                                         std::span<const std::size_t> recv_counts) {
    static_assert(std::is_trivially_copyable_v<T>);
    expects(one_a_rank(send_counts) && one_a_rank(recv_counts) &&
                Schedule::sum(send_counts, size()) == send.size() &&
                Schedule::sum(recv_counts, size()) == recv.size() &&
                Schedule::at(send_counts, rank()) == Schedule::at(recv_counts, rank()),
            "all_to_all needs two counts for each rank, their sums the sizes of send and recv, and "
            "as much from this rank as to it");
    return start(exec, [&] {
      if (size() == 1) return copied(send, recv);
      const std::size_t bytes = Schedule::padded(send.size_bytes());
      mpi::Operation<S>& operation =
          pool_.open("all_to_all", options_.message_limit, bytes + recv.size_bytes());
      std::byte *const out = operation.staging(), *const in = out + bytes;
      copy(send.data(), send.size_bytes(), out);
      copy(send.data() + Schedule::sum(send_counts, rank()),
           sizeof(T) * Schedule::at(send_counts, rank()),
           in + sizeof(T) * Schedule::sum(recv_counts, rank()));
      Schedule(operation, pool_.link()).exchange(out, send_counts, in, recv_counts, sizeof(T));
      operation.begin();
      return request(operation, in, recv);
    });
  }

  bool test(request& started) {
    if (started.operation_ == nullptr) return true;
    return pool_.fuse().guarded([&] { return delivered(started); });
  }

  void finish(request& started, Deadline deadline) {
    if (started.operation_ == nullptr) return;
    pool_.fuse().guarded([&] {
      while (!delivered(started)) {
        if (std::chrono::steady_clock::now() < deadline) {
          std::this_thread::yield();
          continue;
        }
        throw DeadlineExceeded::of(started.operation_->name(), started.operation_->awaited());
      }
    });
  }

  /// Makes this rank's waits fail, now and later. Other ranks notice by their deadlines.
  void abort(const std::string& why) { pool_.fuse().abort(why); }

 private:
  using Schedule = mpi::Schedule<S>;

  /// What `build` starts, after all that the executor has queued.
  template <class E, class Build>
  request start(E& exec, Build build) {
    return pool_.fuse().guarded([&] {
      exec.fence();
      return build();
    });
  }
  template <class T, class Op>
  request start_vendor(std::span<T> x, Op op) {
    const std::size_t bytes = Schedule::padded(x.size_bytes());
    mpi::Operation<S>& operation = pool_.open("all_reduce", segment<T>(), bytes + x.size_bytes());
    std::byte *const in = operation.staging(), *const out = in + bytes;
    copy(x.data(), x.size_bytes(), in);
    operation.all_reduce(reinterpret_cast<const T*>(in), reinterpret_cast<T*>(out), x.size(),
                         elements<T>(options_.message_limit), op);
    pool_.link().bytes_sent += all_reduce_bytes<T>(x.size(), rank(), size());
    request started(operation, out, x);
    if constexpr (std::same_as<Op, Mean>) {
      started.divide_ = [](S& exec, std::byte* result, std::size_t length, int ranks) {
        exec.for_each(length / sizeof(T),
                      kernel::DivideByRanks<T>{reinterpret_cast<T*>(result), ranks});
      };
    }
    return started;
  }
  /// Makes progress; writes the output if the operation has finished.
  bool delivered(request& started) {
    pool_.progress();
    mpi::Operation<S>& operation = *started.operation_;
    if (!operation.finished()) return false;
    if (started.divide_ != nullptr) {
      started.divide_(pool_.executor(), started.result_, started.out_.size(), size());
    }
    copy(started.result_, started.out_.size(), started.out_.data());
    pool_.executor().fence();
    operation.give_back();
    started.operation_ = nullptr;
    return true;
  }

  template <class T>
  request copied(std::span<const T> from, std::span<T> to) {
    copy(from.data(), from.size_bytes(), to.data());
    pool_.executor().fence();
    return {};
  }
  void copy(const void* from, std::size_t bytes, void* to) {
    pool_.executor().copy(std::span(static_cast<const std::byte*>(from), bytes),
                          std::span(static_cast<std::byte*>(to), bytes));
  }
  [[nodiscard]] bool one_a_rank(std::span<const std::size_t> counts) const {
    return counts.size() == static_cast<std::size_t>(size());
  }
  /// Bytes of a reduction's messages: whole elements.
  template <class T>
  [[nodiscard]] std::size_t segment() const {
    return sizeof(T) * elements<T>(std::min(options_.segment, options_.message_limit));
  }
  template <class T>
  static std::size_t elements(std::size_t bytes) {
    return std::max<std::size_t>(bytes / sizeof(T), 1);
  }

  MpiOptions options_;
  mpi::Pool<S> pool_;
};

/// Over MPI, from memory that the host reaches.
using MpiCommunicator = BasicMpiCommunicator<HostExecutor>;

static_assert(Communicator<MpiCommunicator, HostExecutor>);

}  // namespace pactrain

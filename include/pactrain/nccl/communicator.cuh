// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/cuda/error.hpp>
#include <pactrain/cuda/executor.cuh>
#include <pactrain/cuda/queue.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/kernel/rank_order.hpp>
#include <pactrain/nccl/link.hpp>
#include <pactrain/nccl/operation.cuh>
#include <pactrain/nccl/options.hpp>
#include <pactrain/nccl/peers.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace pactrain {

/// Ranks that are GPUs under NCCL (2.18 or later), in one process or several: a communicator for
/// each device, for one thread at a time, on the device that is current at construction.
///
/// Operations run on a stream of the communicator's own, after what the executor had queued when
/// they started and beside what it queues later. A result is staged, and copied out by the
/// executor's stream when `test` or `finish` has seen that it stands: a wait that expires leaves
/// the caller's memory alone. Staging is kept: equal calls allocate once.
///
/// Sums of float, double and integers are NCCL's own unless `Order::rank` is asked for; half types
/// and 16-bit integers, which it rounds or does not know, are exchanged and added here, in rank
/// order; so are reduce-scatters, whose shares may be uneven. `bytes_sent` counts what other ranks
/// get of this one's; NCCL's own reductions, whose algorithm it chooses, count like an exchange of
/// shares.
///
/// Starting waits until NCCL has queued the operation; it does so for the first ones only after
/// other ranks have come. Errors: `DeadlineExceeded`, `PeerLost`, `BackendError`, raised where they
/// are noticed; an owned NCCL communicator is then aborted. Ranks must call with sizes that fit:
/// NCCL does not notice if they do not.
class NcclCommunicator {
 public:
  template <MemorySpace S>
  static constexpr bool reaches = S::device_accessible;

  /// A started collective. Must be finished, or the communicator aborted, before its memory is
  /// freed.
  using request = nccl::Request;

  /// Collective: rank `rank` of the `size` ranks that have got the same `id` (`ncclGetUniqueId`).
  NcclCommunicator(ncclUniqueId id, int rank, int size, NcclOptions options = {})
      : NcclCommunicator(std::make_unique<nccl::Link>(id, rank, size, options.connecting),
                         options) {}
  /// On a communicator of the caller's, which must outlive this one. It is not aborted: after a
  /// `DeadlineExceeded` its operation is still under way, and the caller's to end.
  [[nodiscard]] static NcclCommunicator borrow(ncclComm_t comm, NcclOptions options = {}) {
    return {std::make_unique<nccl::Link>(comm), options};
  }
  /// Collective: of the ranks of a communicator of the host (`MpiCommunicator`,
  /// `ThreadCommunicator`), in their order. Each must have made a device of its own the current
  /// one.
  template <Communicator<HostExecutor> C>
  [[nodiscard]] static NcclCommunicator over(C& comm, NcclOptions options = {}) {
    HostExecutor host;
    ncclUniqueId id{};
    if (comm.rank() == 0) nccl::check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    broadcast(host, comm, std::span<ncclUniqueId>(&id, 1), 0);
    return {id, comm.rank(), comm.size(), options};
  }

  [[nodiscard]] int rank() const noexcept { return peers_.rank(); }
  [[nodiscard]] int size() const noexcept { return peers_.size(); }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return peers_.bytes_sent(); }
  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return options_.timeout; }
  void set_timeout(std::chrono::nanoseconds timeout) {
    options_.timeout = checked_timeout(timeout);
  }

  template <class E, ReducibleValue T, class Op>
  [[nodiscard]] request start_all_reduce(E& exec, std::span<T> x, Op op) {
    if (size() == 1 || x.empty()) return nothing();
    return start(exec, "all_reduce", x, [&](nccl::Operation& operation) {
      const auto result = operation.result.take<T>(side_.system(), x.size());
      if constexpr (nccl::Summable<T>) {
        if (by_vendor<T>()) {
          reduce_by_vendor(operation, as_const_span(x), result, op);
          return result;
        }
      }
      const Share mine = share(x.size(), rank());
      reduce_share(operation, as_const_span(x), result.subspan(mine.begin, mine.size()), op);
      peers_.exchange(
          operation.name, [&](int) { return result.subspan(mine.begin, mine.size()); },
          [&](int r) {
            return result.subspan(share(x.size(), r).begin, share(x.size(), r).size());
          });
      return result;
    });
  }

  template <class E, class T>
  [[nodiscard]] request start_broadcast(E& exec, std::span<T> x, int root) {
    expects(root >= 0 && root < size(),
            "the root of a broadcast is no rank; name one of the ranks");
    if (size() == 1 || x.empty()) return nothing();
    const bool mine = rank() == root;
    return start(exec, "broadcast", mine ? x.first(0) : x, [&](nccl::Operation& operation) {
      const auto result = mine ? x : operation.result.take<T>(side_.system(), x.size());
      peers_.broadcast(operation.name, result, root);
      return result;
    });
  }

  template <class E, class T>
  [[nodiscard]] request start_all_gather(E& exec, std::span<const T> mine,
                                         std::span<const std::size_t> counts, std::span<T> all) {
    expects(one_a_rank(counts) && counts[at(rank())] == mine.size() && sum(counts) == all.size(),
            "all_gather needs a count for each rank, this rank's its own size, all their sum");
    if (size() == 1) return copied(exec, mine, all);
    if (all.empty()) return nothing();
    return start(exec, "all_gather", all, [&](nccl::Operation& operation) {
      const auto result = operation.result.take<T>(side_.system(), all.size());
      if (std::count(counts.begin(), counts.end(), mine.size()) == size()) {
        peers_.all_gather(operation.name, mine, result);
      } else {
        side_.copy(mine, slice(result, counts, rank()));
        peers_.exchange(
            operation.name, [&](int) { return mine; },
            [&](int r) { return slice(result, counts, r); });
      }
      return result;
    });
  }

  template <class E, ReducibleValue T, class Op>
  [[nodiscard]] request start_reduce_scatter(E& exec, std::span<const T> in, std::span<T> out,
                                             Op op) {
    expects(out.size() == share(in.size(), rank()).size(),
            "reduce_scatter writes share_of(in.size(), rank, size) entries");
    if (size() == 1) return copied(exec, in, out);
    if (in.empty()) return nothing();
    return start(exec, "reduce_scatter", out, [&](nccl::Operation& operation) {
      const auto result = operation.result.take<T>(side_.system(), out.size());
      reduce_share(operation, in, result, op);
      return result;
    });
  }

  template <class E, class T>
  [[nodiscard]] request start_all_to_all(E& exec, std::span<const T> send,
                                         std::span<const std::size_t> send_counts,
                                         std::span<T> recv,
                                         std::span<const std::size_t> recv_counts) {
    expects(one_a_rank(send_counts) && one_a_rank(recv_counts) && sum(send_counts) == send.size() &&
                sum(recv_counts) == recv.size() &&
                send_counts[at(rank())] == recv_counts[at(rank())],
            "all_to_all needs two counts for each rank, their sums the sizes of send and recv, and "
            "as much from this rank as to it");
    if (size() == 1) return copied(exec, send, recv);
    return start(exec, "all_to_all", recv, [&](nccl::Operation& operation) {
      const auto result = operation.result.take<T>(side_.system(), recv.size());
      side_.copy(slice(send, send_counts, rank()), slice(result, recv_counts, rank()));
      peers_.exchange(
          operation.name, [&](int r) { return slice(send, send_counts, r); },
          [&](int r) { return slice(result, recv_counts, r); });
      return result;
    });
  }

  bool test(request& started) {
    if (started.finished()) return true;
    return peers_.link().guarded([&] { return delivered(started); });
  }
  void finish(request& started, Deadline deadline) {
    if (started.finished()) return;
    peers_.link().guarded([&] {
      while (!delivered(started)) {
        if (std::chrono::steady_clock::now() >= deadline) nccl::Link::expire(started.name());
        std::this_thread::yield();
      }
    });
  }
  /// Makes this rank's waits fail, now and later, and ends an owned NCCL communicator, which other
  /// ranks notice at the latest by their deadlines.
  void abort(const std::string& why) { peers_.link().abort(why); }

 private:
  NcclCommunicator(std::unique_ptr<nccl::Link> link, NcclOptions options)
      : options_(options),
        side_(gpu::Queue::apart()),
        operations_(std::make_unique<nccl::Operations>()),
        peers_(std::move(link), side_.stream(), options.timeout) {
    expects(options.timeout.count() > 0,
            "the timeout is not positive; every wait would fail at once");
  }

  [[nodiscard]] static std::size_t at(int r) { return static_cast<std::size_t>(r); }
  [[nodiscard]] Share share(std::size_t n, int r) const { return share_of(n, r, size()); }
  [[nodiscard]] bool one_a_rank(std::span<const std::size_t> counts) const {
    return counts.size() == at(size());
  }
  [[nodiscard]] static std::size_t sum(std::span<const std::size_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  }
  /// The part of `values` that is rank r's, `counts` being the sizes of parts.
  template <class T>
  static std::span<T> slice(std::span<T> values, std::span<const std::size_t> counts, int r) {
    return values.subspan(sum(counts.first(at(r))), counts[at(r)]);
  }
  [[nodiscard]] cudaStream_t stream() { return side_.stream(); }
  template <class T>
  [[nodiscard]] bool by_vendor() const {
    if constexpr (sizeof(T) == 2) return options_.vendor_halves;
    else return options_.order == Order::vendor;
  }
  /// What one rank alone, or no data, has to wait for.
  request nothing() {
    return peers_.link().guarded([] { return request{}; });
  }
  template <class E, class T>
  request copied(E& exec, std::span<const T> from, std::span<T> to) {
    exec.copy(from, to);
    return nothing();
  }

  /// Queues what `enqueue(operation)` does, after all that the executor has queued; `out` will get
  /// what it returns.
  template <class E, class T, class Enqueue>
  request start(E& exec, const char* name, std::span<T> out, Enqueue enqueue) {
    static_assert(std::is_trivially_copyable_v<T>);
    expects(exec.device() == side_.device(),
            "the executor is on another device than the communicator; make both under the same "
            "current device");
    return peers_.link().guarded([&] {
      const gpu::OnDevice here(side_.device());
      nccl::Operation& operation = operations_->idle();
      operation.name = name;
      operation.ready.record(exec.stream());
      operation.ready.hold(stream());
      operation.delivered.hold(stream());
      const std::span<const T> result = enqueue(operation);
      operation.done.record(stream());
      return request(operation, exec.stream(), result, out);
    });
  }
  /// Is the result there? If so it is copied out.
  bool delivered(request& started) {
    const gpu::OnDevice here(side_.device());
    peers_.link().look(started.name());
    return started.deliver();
  }

  template <class T, class Op>
  void reduce_by_vendor(const nccl::Operation& operation, std::span<const T> in,
                        std::span<T> result, Op op) {
    if constexpr (std::same_as<Op, Mean> && sizeof(T) != 2) {
      peers_.all_reduce(operation.name, in, result, Sum{});  // ncclAvg would multiply, then add
      side_.for_each(result.size(), kernel::DivideByRanks<T>{result.data(), size()});
    } else {
      peers_.all_reduce(operation.name, in, result, op);
    }
  }
  /// Shares are exchanged, and this rank adds up its own.
  template <class T, class Op>
  void reduce_share(nccl::Operation& operation, std::span<const T> in, std::span<T> result, Op) {
    const std::size_t own = result.size();
    const auto received = operation.received.take<T>(side_.system(), own * at(size()));
    const auto part = [&](int r) {
      return in.subspan(share(in.size(), r).begin, share(in.size(), r).size());
    };
    peers_.exchange(operation.name, part,
                    [&](int r) { return received.subspan(at(r) * own, own); });
    side_.for_each(own, kernel::ReduceInRankOrder<T, Op>{part(rank()).data(), received.data(), own,
                                                         rank(), size(), result.data()});
  }

  NcclOptions options_;
  CudaExecutor side_;  ///< the communicator's own stream
  std::unique_ptr<nccl::Operations> operations_;
  nccl::Peers peers_;  ///< goes first: it ends what is under way
};

static_assert(Communicator<NcclCommunicator, CudaExecutor>);

}  // namespace pactrain

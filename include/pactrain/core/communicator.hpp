// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// Adds over ranks, in rank order.
struct Sum {};
/// Adds over ranks in rank order and divides by their number, with one rounding at the end.
struct Mean {};
/// The largest over ranks. NaNs are not to be trusted to it: a flag travels beside it instead.
struct Max {};

/// Who says in which order a transport's reductions add.
enum class Order {
  rank,   ///< rank order, half types in float: the same bits on threads, MPI and NCCL
  vendor  ///< the transport's own reductions: their order, their NaN rules
};

/// The moment at which a wait gives up.
using Deadline = std::chrono::steady_clock::time_point;
/// The deadline of a wait that begins now; what is later than the clock can tell is never.
inline Deadline deadline_in(std::chrono::nanoseconds timeout) {
  const Deadline now = std::chrono::steady_clock::now();
  return timeout < Deadline::max() - now
             ? now + std::chrono::duration_cast<Deadline::duration>(timeout)
             : Deadline::max();
}

/// Throws `PreconditionError` for a timeout that cannot work; returns it otherwise.
inline std::chrono::nanoseconds checked_timeout(std::chrono::nanoseconds timeout) {
  expects(timeout.count() > 0, "the timeout is not positive; every wait would fail at once");
  return timeout;
}

/// The part of `n` entries that rank `rank` of `ranks` owns in a reduce-scatter: [begin, end).
struct Share {
  std::size_t begin = 0, end = 0;
  [[nodiscard]] constexpr std::size_t size() const noexcept { return end - begin; }
};
constexpr Share share_of(std::size_t n, int rank, int ranks) {
  const auto r = static_cast<std::size_t>(rank), p = static_cast<std::size_t>(ranks);
  const std::size_t begin = n / p * r + std::min(r, n % p);
  return {begin, begin + n / p + (r < n % p ? 1 : 0)};
}

/// Bytes that rank `rank` sends in an all-reduce of `n` values of type T, made of a reduce-scatter
/// and an all-gather of shares.
template <class T>
constexpr std::size_t all_reduce_bytes(std::size_t n, int rank, int ranks) {
  const std::size_t own = share_of(n, rank, ranks).size();
  return sizeof(T) * (n - own + own * static_cast<std::size_t>(ranks - 1));
}

/// Moves buffers between ranks after the executor's queued work: what MPI, NCCL and threads have
/// in common. It sees bytes or sums, and knows no meaning.
///
/// Every `start_*` is collective: all ranks make the same calls in the same order, with sizes that
/// fit. It returns a move-only request at once and may copy its input away; the output is
/// unspecified until `finish` returns or `test` returned true, and is not written if either throws.
///
/// - `start_all_reduce(exec, x, op)`: `x` becomes the reduction over ranks, the same bits on all.
/// - `start_broadcast(exec, x, root)`: `x` becomes what it is on `root`.
/// - `start_all_gather(exec, mine, counts, all)`: ranks' contributions in rank order; `counts`
///   (host, one per rank) are elements, the same on all ranks.
/// - `start_reduce_scatter(exec, in, out, op)`: `out` becomes this rank's `share_of(in.size())`.
/// - `start_all_to_all(exec, send, send_counts, recv, recv_counts)`: slice `r` of `send` goes to
///   rank `r`; counts are host spans of elements.
/// - `test(request)`: makes progress; true when done. `finish(request, deadline)`: waits.
/// - `abort(why)`: makes this rank's and, where the transport can, all ranks' waits fail.
/// - `timeout()`: the wait after which a blocking form gives up; `set_timeout(timeout)`, which is
///   positive: this rank's from now on. `bytes_sent()`: payload bytes this rank has handed to the
///   transport for other ranks since construction.
///
/// All-reduce and reduce-scatter take `ReducibleValue`s with Sum and Max, and gradient values with
/// Mean; the others move any trivially copyable type. Half types are added in float. Errors:
/// `DeadlineExceeded`, `PeerLost`, `RankMismatch`, `BackendError`; after the first the communicator
/// is unusable and says so.
template <class C, class E>
concept Communicator =
    Executor<E> && C::template reaches<typename E::memory_space> &&
    std::movable<typename C::request> && std::default_initializable<typename C::request> &&
    requires(C& comm, const C& view, E& exec, std::span<float> x, std::span<const float> in,
             std::span<const std::size_t> counts, typename C::request& request, Deadline deadline) {
      { view.rank() } -> std::same_as<int>;
      { view.size() } -> std::same_as<int>;
      { view.bytes_sent() } -> std::same_as<std::uint64_t>;
      { view.timeout() } -> std::convertible_to<std::chrono::nanoseconds>;
      { comm.start_all_reduce(exec, x, Sum{}) } -> std::same_as<typename C::request>;
      { comm.start_all_reduce(exec, x, Mean{}) } -> std::same_as<typename C::request>;
      { comm.start_all_reduce(exec, x, Max{}) } -> std::same_as<typename C::request>;
      { comm.start_broadcast(exec, x, 0) } -> std::same_as<typename C::request>;
      { comm.start_all_gather(exec, in, counts, x) } -> std::same_as<typename C::request>;
      { comm.start_reduce_scatter(exec, in, x, Sum{}) } -> std::same_as<typename C::request>;
      { comm.start_all_to_all(exec, in, counts, x, counts) } -> std::same_as<typename C::request>;
      { comm.test(request) } -> std::same_as<bool>;
      comm.finish(request, deadline);
      comm.abort("reason");
      comm.set_timeout(std::chrono::nanoseconds(1));
    };

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/mpi/link.hpp>
#include <pactrain/mpi/operation.hpp>

#include <cstddef>
#include <span>

namespace pactrain::mpi {

/// Which bytes go where: pointers into an operation's staging, sizes in bytes, peers taken in turn
/// from this rank on so that no rank is everyone's first.
template <Executor S>
class Schedule {
 public:
  Schedule(Operation<S>& operation, const Link& link) : operation_(operation), link_(link) {}

  /// Memory that a slice takes where every slice begins at a cache line.
  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
  /// The bytes of rank `rank`'s share of `n` values.
  template <class T>
  static Share slice(std::size_t n, int rank, const Link& link) {
    const Share share = share_of(n, rank, link.size());
    return {share.begin * sizeof(T), share.end * sizeof(T)};
  }
  /// Memory for what `reduce_slice` receives.
  template <class T>
  static std::size_t contributions(std::size_t n, const Link& link) {
    return static_cast<std::size_t>(link.size()) * padded(slice<T>(n, link.rank(), link).size());
  }

  /// This rank's slice comes from all ranks and is reduced into `out`; others' go to their ranks.
  template <class T, class Op>
  void reduce_slice(std::size_t n, const std::byte* in, std::byte* received, std::byte* out, Op) {
    const Share own = slice<T>(n, link_.rank(), link_);
    const std::size_t stride = padded(own.size());
    for (int k = 1; k < link_.size(); ++k) {
      const int from = before(k), to = after(k);
      const Share theirs = slice<T>(n, to, link_);
      operation_.receive(received + static_cast<std::size_t>(from) * stride, own.size(), from);
      operation_.send(in + theirs.begin, theirs.size(), to);
    }
    operation_.reduce({Reduction<S>::template in_rank_order<T, Op>, in + own.begin, received,
                       stride, own.size(), out});
  }
  /// Slices, once reduced, go to all ranks: `all` has each at its place.
  template <class T>
  void gather_slices(std::size_t n, std::byte* all) {
    const Share own = slice<T>(n, link_.rank(), link_);
    for (int k = 1; k < link_.size(); ++k) {
      const Share theirs = slice<T>(n, before(k), link_);
      operation_.receive(all + theirs.begin, theirs.size(), before(k), 1);
      operation_.send(all + own.begin, own.size(), after(k), 1);
    }
  }
  void broadcast(std::byte* data, std::size_t bytes, int root) {
    if (link_.rank() != root) return operation_.receive(data, bytes, root);
    for (int k = 1; k < link_.size(); ++k) operation_.send(data, bytes, after(k));
  }
  /// `counts[r]` elements of rank r lie in `all` at their place: this rank's go out, others' come.
  void gather(std::byte* all, std::span<const std::size_t> counts, std::size_t element) {
    const std::byte* const mine = all + element * sum(counts, link_.rank());
    for (int k = 1; k < link_.size(); ++k) {
      operation_.receive(all + element * sum(counts, before(k)), element * at(counts, before(k)),
                         before(k));
      operation_.send(mine, element * at(counts, link_.rank()), after(k));
    }
  }
  void exchange(const std::byte* send, std::span<const std::size_t> send_counts, std::byte* recv,
                std::span<const std::size_t> recv_counts, std::size_t element) {
    for (int k = 1; k < link_.size(); ++k) {
      operation_.receive(recv + element * sum(recv_counts, before(k)),
                         element * at(recv_counts, before(k)), before(k));
      operation_.send(send + element * sum(send_counts, after(k)),
                      element * at(send_counts, after(k)), after(k));
    }
  }

  /// The elements of ranks below `rank`.
  static std::size_t sum(std::span<const std::size_t> counts, int rank) {
    std::size_t total = 0;
    for (int r = 0; r < rank; ++r) total += at(counts, r);
    return total;
  }
  static std::size_t at(std::span<const std::size_t> counts, int rank) {
    return counts[static_cast<std::size_t>(rank)];
  }

 private:
  [[nodiscard]] int after(int k) const { return (link_.rank() + k) % link_.size(); }
  [[nodiscard]] int before(int k) const { return (link_.rank() + link_.size() - k) % link_.size(); }

  Operation<S>& operation_;
  const Link& link_;
};

}  // namespace pactrain::mpi

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/sparse_stream.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/balance.hpp>
#include <pactrain/kernel/indices.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace pactrain {

/// Items that ranks have, on their way to all: where one rank has more than twice the average, they
/// are first spread evenly (`scatter`), then gathered. `pick` them; `agree` on the numbers of all
/// ranks; `scatter` and `spread` if `uneven`; `gather`; then `streams` stand. Items are mean and
/// position in a vector of `n`, ascending over ranks; which a rank may be lied to about, so that
/// `in_order` is to be asked of the streams at the end.
template <GradientValue T, Executor E>
class ItemGather {
 public:
  /// Takes the sums that `picked` names, divided by `divisor`; they stand at `positions`, counted
  /// from `begin`, or at 0, 1, ... where there are none.
  template <GradientValue A>
  void pick(E& exec, std::size_t n, kernel::Indices picked, std::span<const A> sums,
            kernel::Indices positions, std::size_t begin, A divisor) {
    n_ = n;
    mine_ = place(exec, wire_, picked.count);
    exec.for_each(picked.count,
                  kernel::TakeMeans<A, T>{picked, positions, sums.data(), divisor, begin,
                                          mine_.positions(), mine_.values().data()});
  }
  void agree(std::span<const std::size_t> counts) {
    counts_.assign(counts.begin(), counts.end());
    total_ = std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
  }
  [[nodiscard]] std::size_t total() const noexcept { return total_; }
  [[nodiscard]] bool uneven() const {
    return std::ranges::max(counts_) > 2 * (total_ / counts_.size() + 1);
  }

  /// Starts to send each rank what is to be its share of all items.
  template <class C>
  [[nodiscard]] typename C::request scatter(E& exec, C& comm) {
    const std::size_t ranks = counts_.size(), me = static_cast<std::size_t>(comm.rank());
    std::size_t before = 0;
    for (std::size_t r = 0; r < me; ++r) before += counts_[r];
    pieces_.clear();
    send_.clear();
    receive_.clear();
    received_.clear();
    for (std::size_t r = 0; r < ranks; ++r) {
      pieces_.push_back(bare(overlap(before, counts_[me], share(r))));
      send_.push_back(pieces_[r].bytes());
    }
    std::size_t at = 0;
    for (std::size_t r = 0; r < ranks; at += counts_[r++]) {
      received_.push_back(bare(overlap(at, counts_[r], share(me))));
      receive_.push_back(received_[r].bytes());
    }
    lay(exec, pieces_, outgoing_);
    for (std::size_t r = 0, first = 0; r < ranks; first += pieces_[r++].items) {
      copy(exec, mine_, first, pieces_[r], 0, pieces_[r].items);
    }
    lay(exec, received_, incoming_);
    return comm.start_all_to_all(exec, as_const_span(bytes_of(send_, outgoing_)),
                                 std::span<const std::size_t>(send_), bytes_of(receive_, incoming_),
                                 std::span<const std::size_t>(receive_));
  }
  [[nodiscard]] std::size_t scattered_bytes() const {
    return std::accumulate(send_.begin(), send_.end(), std::size_t{0});
  }
  /// The share that arrived takes the place of what this rank had.
  void spread(E& exec, int rank) {
    const std::size_t ranks = counts_.size();
    for (std::size_t r = 0; r < ranks; ++r) counts_[r] = share(r).size();
    mine_ = place(exec, wire_, counts_[static_cast<std::size_t>(rank)]);
    std::size_t first = 0;
    for (const auto& piece : received_) {
      copy(exec, piece, 0, mine_, first, piece.items);
      first += piece.items;
    }
  }

  [[nodiscard]] std::span<const std::byte> wire() const { return {mine_.body, mine_.bytes()}; }
  template <class C>
  [[nodiscard]] typename C::request gather(E& exec, C& comm) {
    streams_.clear();
    receive_.clear();
    for (const std::size_t count : counts_) {
      streams_.push_back(bare(count));
      receive_.push_back(streams_.back().bytes());
    }
    lay(exec, streams_, incoming_);
    return comm.start_all_gather(exec, wire(), std::span<const std::size_t>(receive_),
                                 bytes_of(receive_, incoming_));
  }
  [[nodiscard]] std::span<const SparseStream<T>> streams() const { return streams_; }

 private:
  using Stream = SparseStream<T>;

  [[nodiscard]] Share share(std::size_t rank) const {
    return share_of(total_, static_cast<int>(rank), static_cast<int>(counts_.size()));
  }
  [[nodiscard]] static std::size_t overlap(std::size_t first, std::size_t count, Share share) {
    const std::size_t begin = std::max(first, share.begin);
    const std::size_t end = std::min(first + count, share.end);
    return end > begin ? end - begin : 0;
  }
  [[nodiscard]] Stream bare(std::size_t items) const { return {n_, items, false, nullptr}; }
  [[nodiscard]] Stream place(E& exec, Scratch<E>& memory, std::size_t items) const {
    Stream stream = bare(items);
    stream.body = memory.template take<std::byte>(exec, stream.bytes()).data();
    return stream;
  }
  /// Puts streams behind each other.
  void lay(E& exec, std::vector<Stream>& streams, Scratch<E>& memory) const {
    std::size_t total = 0;
    for (const Stream& stream : streams) total += stream.bytes();
    std::byte* at = memory.template take<std::byte>(exec, total).data();
    for (Stream& stream : streams) {
      stream.body = at;
      at += stream.bytes();
    }
  }
  [[nodiscard]] static std::span<std::byte> bytes_of(const std::vector<std::size_t>& counts,
                                                     const Scratch<E>& memory) {
    return memory.template view<std::byte>(
        std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  }
  void copy(E& exec, const Stream& from, std::size_t first, const Stream& to, std::size_t at,
            std::size_t items) const {
    exec.copy(as_const_span(from.values().subspan(first, items)), to.values().subspan(at, items));
    const kernel::Indices source = from.positions(), target = to.positions();
    const std::size_t width = source.width;
    exec.copy(
        std::span<const std::byte>(static_cast<std::byte*>(source.data) + first * width,
                                   items * width),
        std::span<std::byte>(static_cast<std::byte*>(target.data) + at * width, items * width));
  }

  std::size_t n_ = 0, total_ = 0;
  Stream mine_;
  std::vector<std::size_t> counts_, send_, receive_;
  std::vector<Stream> pieces_, received_, streams_;
  Scratch<E> wire_, outgoing_, incoming_;
};

}  // namespace pactrain

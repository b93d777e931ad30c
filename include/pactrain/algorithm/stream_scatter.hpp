// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/range_sum.hpp>
#include <pactrain/algorithm/refusal.hpp>
#include <pactrain/algorithm/sparse_stream.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/indices.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kernel/streams.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// Throws `BackendError` on this rank and makes the others' waits fail, unless `right`: what a peer
/// sent to this rank alone cannot be.
template <class C>
void expects_streams(C& comm, bool right) {
  if (right) return;
  const char* const why =
      "items that another rank sent are damaged (they do not fit their range); check that all "
      "ranks run the same build, and the network";
  comm.abort(why);
  throw BackendError(std::string("pactrain: ") + why);
}

/// Chosen entries on their way to the owners of ranges, who add them up: `tell` how many there are,
/// `listen`, `send` them, `add_up`, with a collective between each two. Values travel in type W and
/// are added in `arithmetic_t<W>`, in rank order.
template <GradientValue W, Executor E>
class StreamScatter {
  using A = arithmetic_t<W>;
  static constexpr std::uint64_t none = ~std::uint64_t{0};

 public:
  /// Rank r owns the positions [cuts[r], cuts[r + 1]). `chosen` stays in use until `send`. Waits.
  void split(E& exec, kernel::Indices chosen, std::span<const std::size_t> cuts) {
    chosen_ = chosen;
    cuts_.assign(cuts.begin(), cuts.end());
    slots_.resize(cuts.size());
    const auto shared = shared_.template take<std::size_t>(exec, 2 * cuts.size());
    exec.write(std::span<const std::size_t>(cuts_), shared.first(cuts.size()));
    const auto slots = shared.subspan(cuts.size());
    exec.for_each(cuts.size(), kernel::SlotsAt{chosen, shared.data(), slots.data()});
    exec.read(as_const_span(slots), std::span(slots_));
    mine_.clear();
    for (std::size_t r = 0; r + 1 < cuts.size(); ++r) mine_.push_back(slots_[r + 1] - slots_[r]);
  }
  /// In place of `split` where this rank could not choose: all ranks are to be told.
  void fail(std::size_t ranks, const std::string& trouble) {
    mine_.assign(ranks, none);
    trouble_ = trouble;
  }
  /// Starts to tell every owner how many items it gets of this rank.
  template <class C>
  [[nodiscard]] typename C::request tell(E& exec, C& comm) {
    const std::size_t ranks = mine_.size();
    const auto told = told_.template take<std::uint64_t>(exec, 2 * ranks);
    exec.write(std::span<const std::uint64_t>(mine_), told.first(ranks));
    counts_.assign(ranks, 1);
    const std::span<const std::size_t> counts(counts_);
    return comm.start_all_to_all(exec, as_const_span(told.first(ranks)), counts,
                                 told.subspan(ranks), counts);
  }
  /// Hears it, and refuses the call on all ranks where one could not choose. Waits.
  template <class C>
  void listen(E& exec, C& comm) {
    const std::size_t ranks = mine_.size();
    theirs_.resize(ranks);
    exec.read(as_const_span(told_.template view<std::uint64_t>(2 * ranks).subspan(ranks)),
              std::span(theirs_));
    if (std::ranges::find(theirs_, none) != theirs_.end()) refuse_trouble(exec, comm, trouble_);
    const std::size_t own = range(static_cast<std::size_t>(comm.rank()));
    expects_streams(comm, std::ranges::all_of(theirs_, [&](auto n) { return n <= own; }));
  }
  /// Makes the streams; `values` stands at all positions.
  template <GradientValue S>
  void encode(E& exec, const S* values) {
    send_.clear();
    for (std::size_t r = 0; r < mine_.size(); ++r) {
      send_.push_back(SparseStream<W>::of(range(r), mine_[r]).bytes());
    }
    std::size_t total = 0;
    for (const std::size_t bytes : send_) total += bytes;
    const auto wire = wire_.template take<std::byte>(exec, total);
    std::size_t at = 0;
    for (std::size_t r = 0; r < mine_.size(); ++r) {
      auto stream = SparseStream<W>::of(range(r), mine_[r]);
      stream.body = wire.data() + at;
      write(exec, values, r, stream);
      at += send_[r];
    }
  }
  [[nodiscard]] std::span<const std::byte> wire() const {
    std::size_t total = 0;
    for (const std::size_t bytes : send_) total += bytes;
    return wire_.template view<std::byte>(total);
  }
  template <class C>
  [[nodiscard]] typename C::request send(E& exec, C& comm) {
    const std::size_t own = range(static_cast<std::size_t>(comm.rank()));
    receive_.clear();
    std::size_t total = 0;
    for (const std::uint64_t items : theirs_) {
      receive_.push_back(SparseStream<W>::of(own, items).bytes());
      total += receive_.back();
    }
    return comm.start_all_to_all(exec, wire(), std::span<const std::size_t>(send_),
                                 arrived_.template take<std::byte>(exec, total),
                                 std::span<const std::size_t>(receive_));
  }
  /// Adds what arrived, in rank order. Waits.
  template <class C>
  void add_up(E& exec, C& comm) {
    const std::size_t own = range(static_cast<std::size_t>(comm.rank()));
    std::byte* at = arrived_.template view<std::byte>(0).data();
    streams_.clear();
    for (std::size_t r = 0; r < receive_.size(); at += receive_[r++]) {
      streams_.push_back(SparseStream<W>::of(own, theirs_[r]));
      streams_.back().body = at;
    }
    const std::span<const SparseStream<W>> streams(streams_);
    expects_streams(comm, in_order(exec, streams, shared_));
    sum_.begin(own);
    for (const auto& stream : streams) sum_.add(exec, stream);
  }
  /// The sum over this rank's range.
  [[nodiscard]] const RangeSum<A, E>& sum() const noexcept { return sum_; }
  /// The same with all of its values.
  [[nodiscard]] const RangeSum<A, E>& dense_sum(E& exec) {
    sum_.make_dense(exec);
    return sum_;
  }
  [[nodiscard]] std::size_t range(std::size_t rank) const { return cuts_[rank + 1] - cuts_[rank]; }
  [[nodiscard]] std::span<const std::size_t> cuts() const noexcept { return cuts_; }

 private:
  template <GradientValue S>
  void write(E& exec, const S* values, std::size_t rank, const SparseStream<W>& stream) {
    W* const to = stream.values().data();
    if (stream.dense) {
      exec.for_each(stream.range, kernel::Fill<W>{to, W{}});
      exec.for_each(stream.items,
                    kernel::WriteChosen<S, W>{chosen_, slots_[rank], cuts_[rank], values, to});
    } else {
      exec.for_each(stream.items, kernel::WriteItems<S, W>{chosen_, slots_[rank], cuts_[rank],
                                                           values, stream.positions(), to});
    }
  }

  kernel::Indices chosen_;
  std::string trouble_;
  std::vector<std::size_t> cuts_, slots_, counts_, send_, receive_;
  std::vector<std::uint64_t> mine_, theirs_;
  std::vector<SparseStream<W>> streams_;
  RangeSum<A, E> sum_;
  Scratch<E> shared_, told_, wire_, arrived_;
};

}  // namespace pactrain

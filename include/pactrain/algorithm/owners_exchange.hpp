// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/exchange_base.hpp>
#include <pactrain/algorithm/owned_sums.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/algorithm/refusal.hpp>
#include <pactrain/algorithm/sparse_stream.hpp>
#include <pactrain/algorithm/stream_scatter.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kernel/streams.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/mask.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace pactrain {

/// The way of ranks' own choices over owners of positions. Ranks tell owners how many items they
/// have for them, and send those; owners add them up in rank order, sparse or dense as they become
/// (`RangeSum`), tell all ranks which, and all gather the results. `Options::order<E>` says who
/// owns what, `Options::bitmaps` whether sums may come with bits in place of positions. Values
/// travel in the gradient's type both times, sums are made in `arithmetic_t` of it and rounded
/// once.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
class OwnersExchange final
    : public ExchangeBase<OwnersExchange<T, S, E, C, Options>, T, S, E, C, Options> {
  using Base = ExchangeBase<OwnersExchange, T, S, E, C, Options>;
  using typename Base::A;
  friend Base;

 public:
  using Base::Base;
  static constexpr int stages() { return 4; }

 private:
  void step(E& exec, C& comm, int stage) {
    if (stage == 0) tell(exec, comm);
    else if (stage == 1) send(exec, comm);
    else if (stage == 2) add_up(exec, comm);
    else if (stage == 3) gather(exec, comm);
    else deliver(exec);
  }
  void tell(E& exec, C& comm) {
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      const std::size_t n = this->packed_.size();
      order_.lay_out(exec, n, static_cast<std::size_t>(this->call_.ranks));
      try {
        this->codec_.choose(exec, this->call_, as_const_span(this->packed_));
        scatter_.split(exec, order_.places(exec, this->codec_.mask()), order_.cuts());
      } catch (const PreconditionError& error) {  // or the other ranks would wait for this one
        scatter_.fail(order_.cuts().size() - 1, without_prefix(error.what()));
      }
    }
    this->request_ = this->counted(exec, comm, [&] { return scatter_.tell(exec, comm); });
  }
  void send(E& exec, C& comm) {
    scatter_.listen(exec, comm);
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      const std::size_t n = this->packed_.size();
      scatter_.encode(exec, order_.values(exec, as_const_span(this->packed_)));
      this->keep_chosen(exec, {});
      if (this->options_.remember) {
        this->codec_.mask().visit(
            exec, 0, n, kernel::ConveyAt<S, T, A>{this->packed_.data(), this->conveyed_.data()});
      }
    }
    this->report_->payload_bytes += scatter_.wire().size();
    this->request_ = this->counted(exec, comm, [&] { return scatter_.send(exec, comm); });
  }
  /// Adds what arrived, and tells all ranks what it became: items, or `dense`; and the flags.
  void add_up(E& exec, C& comm) {
    const auto ranks = static_cast<std::size_t>(this->call_.ranks);
    const auto told = told_.template take<std::uint64_t>(exec, 2 * ranks + 2);
    const auto mine = told.subspan(2 * ranks);
    {
      const StageTimer timer(exec, "decode", this->report_->seconds.decode);
      scatter_.add_up(exec, comm);
      const std::uint64_t items = scatter_.sum().dense() ? dense : scatter_.sum().size();
      exec.write(std::span<const std::uint64_t>(&items, 1), mine.first(1));
      this->put_flags(exec, mine.data() + 1);
    }
    counts_.assign(ranks, 2);
    this->request_ = this->counted(exec, comm, [&] {
      return comm.start_all_gather(exec, as_const_span(mine), std::span<const std::size_t>(counts_),
                                   told.first(2 * ranks));
    });
  }
  void gather(E& exec, C& comm) {
    const auto ranks = static_cast<std::size_t>(this->call_.ranks);
    std::vector<std::uint64_t> told(2 * ranks);
    const auto shared = told_.template view<std::uint64_t>(2 * ranks);
    exec.read(as_const_span(shared), std::span(told));
    std::size_t total = 0;
    sums_.clear();
    listed_.clear();
    for (std::size_t r = 0; r < ranks; ++r) {
      this->unite_flags(exec, shared.data() + 2 * r + 1);
      const std::uint64_t items = told[2 * r];
      const std::size_t range = scatter_.range(r);
      expects_positions(items == dense || items <= range);
      sums_.push_back(OwnedSums<T>::of(range, items == dense ? range : items, items == dense,
                                       Options::bitmaps));
      counts_[r] = sums_[r].bytes();
      total += counts_[r];
    }
    const auto arrived = arrived_.template take<std::byte>(exec, total);
    for (std::size_t r = 0, at = 0; r < ranks; at += counts_[r++]) {
      sums_[r].stream.body = arrived.data() + at;
      if (!sums_[r].bits && !sums_[r].stream.dense) listed_.push_back(sums_[r].stream);
    }
    OwnedSums<T> mine = sums_[static_cast<std::size_t>(comm.rank())];
    const auto wire = this->wire_.template take<std::byte>(exec, mine.bytes());
    mine.stream.body = wire.data();
    write(exec, mine);
    this->report_->payload_bytes += wire.size();
    this->request_ = this->counted(exec, comm, [&] {
      return comm.start_all_gather(exec, as_const_span(wire), std::span<const std::size_t>(counts_),
                                   arrived);
    });
  }
  void write(E& exec, const OwnedSums<T>& mine) {
    const StageTimer timer(exec, "encode", this->report_->seconds.encode);
    const auto& sum = scatter_.sum();
    const A divisor = this->options_.mean ? static_cast<A>(this->call_.ranks) : A(1);
    exec.for_each(sum.size(),
                  kernel::Divide<A, T>{sum.values().data(), divisor, mine.stream.values().data()});
    if (mine.bits) {
      const std::size_t range = mine.stream.range;
      bits_.begin(exec, range);
      bits_.assign(exec, Piece<const T>{0, 0, 0, range, nullptr}, sum.positions());
      exec.copy(bits_.positions(), mine.bitmap());
    } else if (!mine.stream.dense) {
      const kernel::Indices from = sum.positions(), to = mine.stream.positions();
      const std::size_t bytes = from.count * from.width;
      exec.copy(std::span<const std::byte>(static_cast<std::byte*>(from.data), bytes),
                std::span<std::byte>(static_cast<std::byte*>(to.data), bytes));
    }
  }
  void deliver(E& exec) {
    const StageTimer timer(exec, "decode", this->report_->seconds.decode);
    const std::size_t n = this->packed_.size();
    this->values_ = this->values_buffer_.template take<T>(exec, n);
    exec.for_each(n, kernel::Fill<T>{this->values_.data(), T{}});
    expects_positions(in_order(exec, std::span<const SparseStream<T>>(listed_), this->scratch_));
    for (std::size_t r = 0; r < sums_.size(); ++r) {
      const auto& stream = sums_[r].stream;
      const auto back = order_.back(stream.values().data(), r, this->values_.data());
      if (sums_[r].bits) {
        bits_.receive(exec, stream.range, sums_[r].bitmap());
        expects_positions(bits_.count() == stream.items);
        bits_.visit(exec, 0, stream.range, back);
      } else if (stream.dense) {
        Everything{}.visit(exec, 0, stream.range, back);
      } else {
        exec.for_each(stream.items, kernel::PlaceListed<std::remove_const_t<decltype(back)>>{
                                        back, stream.positions()});
      }
    }
    if (this->options_.check) {
      find_non_finite(exec, this->values_, this->flags_.data(), this->scratch_);
    }
  }

  static constexpr std::uint64_t dense = ~std::uint64_t{0};

  typename Options::template order<E> order_;
  StreamScatter<T, E> scatter_;
  BitMask::on<E> bits_;
  std::vector<std::size_t> counts_;
  std::vector<OwnedSums<T>> sums_;
  std::vector<SparseStream<T>> listed_;  ///< those of the sums that come with positions
  Scratch<E> told_, arrived_;
};

}  // namespace pactrain

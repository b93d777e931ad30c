// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/exchange_base.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/algorithm/refusal.hpp>
#include <pactrain/algorithm/sparse_stream.hpp>
#include <pactrain/algorithm/stream_scatter.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kernel/streams.hpp>
#include <pactrain/mask/mask.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// SparCML's split all-gather: every rank owns a range of the vector. Ranks tell owners how many
/// items they have for them, and send those; owners add them up in rank order, sparse or dense as
/// they become (`RangeSum`), tell all ranks which, and all gather the results. Values travel in the
/// gradient's type both times, sums are made in `arithmetic_t` of it and rounded once.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
class StreamsExchange final
    : public ExchangeBase<StreamsExchange<T, S, E, C, Options>, T, S, E, C, Options> {
  using Base = ExchangeBase<StreamsExchange, T, S, E, C, Options>;
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
      cuts_.assign(1, 0);
      for (int r = 0; r < this->call_.ranks; ++r) {
        cuts_.push_back(share_of(n, r, this->call_.ranks).end);
      }
      try {
        this->codec_.choose(exec, this->call_, as_const_span(this->packed_));
        scatter_.split(exec, this->codec_.chosen(), cuts_);
      } catch (const PreconditionError& error) {  // or the other ranks would wait for this one
        scatter_.fail(cuts_.size() - 1, without_prefix(error.what()));
      }
    }
    this->request_ = this->counted(exec, comm, [&] { return scatter_.tell(exec, comm); });
  }
  void send(E& exec, C& comm) {
    scatter_.listen(exec, comm);
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      scatter_.encode(exec, this->packed_.data());
      this->keep_chosen(exec, this->codec_.chosen());
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
      const auto& sum = scatter_.sum();
      const std::uint64_t items = sum.dense() ? dense : sum.size();
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
    for (std::size_t r = 0; r < ranks; ++r) this->unite_flags(exec, shared.data() + 2 * r + 1);
    std::size_t total = 0;
    streams_.clear();
    for (std::size_t r = 0; r < ranks; ++r) {
      const std::size_t range = scatter_.range(r);
      const std::uint64_t items = told[2 * r];
      expects_positions(items == dense || items <= range);
      streams_.push_back({range, items == dense ? range : items, items == dense, nullptr});
      counts_[r] = streams_[r].bytes();
      total += counts_[r];
    }
    const auto arrived = arrived_.template take<std::byte>(exec, total);
    for (std::size_t r = 0, at = 0; r < ranks; at += counts_[r++]) {
      streams_[r].body = arrived.data() + at;
    }
    const auto rank = static_cast<std::size_t>(comm.rank());
    auto mine = streams_[rank];
    const auto wire = this->wire_.template take<std::byte>(exec, mine.bytes());
    mine.body = wire.data();
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      const auto& sum = scatter_.sum();
      const A divisor = this->options_.mean ? static_cast<A>(this->call_.ranks) : A(1);
      exec.for_each(sum.size(),
                    kernel::Divide<A, T>{sum.values().data(), divisor, mine.values().data()});
      if (!mine.dense) {
        const auto bytes = static_cast<std::size_t>(mine.items * mine.positions().width);
        exec.copy(
            std::span<const std::byte>(static_cast<const std::byte*>(sum.positions().data), bytes),
            std::span<std::byte>(static_cast<std::byte*>(mine.positions().data), bytes));
      }
    }
    this->report_->payload_bytes += wire.size();
    this->request_ = this->counted(exec, comm, [&] {
      return comm.start_all_gather(exec, as_const_span(wire), std::span<const std::size_t>(counts_),
                                   arrived);
    });
  }
  void deliver(E& exec) {
    const StageTimer timer(exec, "decode", this->report_->seconds.decode);
    expects_positions(in_order(exec, std::span<const SparseStream<T>>(streams_), this->scratch_));
    const std::size_t n = this->packed_.size();
    this->values_ = this->values_buffer_.template take<T>(exec, n);
    exec.for_each(n, kernel::Fill<T>{this->values_.data(), T{}});
    for (std::size_t r = 0; r < streams_.size(); ++r) {
      const auto& stream = streams_[r];
      const auto values = stream.values();
      T* const to = this->values_.data() + cuts_[r];
      if (stream.dense) {
        exec.copy(as_const_span(values), std::span<T>(to, values.size()));
      } else {
        exec.for_each(stream.items,
                      kernel::PlaceItems<T, T>{stream.positions(), values.data(), to});
      }
    }
    if (this->options_.check) {
      find_non_finite(exec, this->values_, this->flags_.data(), this->scratch_);
    }
  }

  static constexpr std::uint64_t dense = ~std::uint64_t{0};

  StreamScatter<T, E> scatter_;
  std::vector<std::size_t> cuts_, counts_;
  std::vector<SparseStream<T>> streams_;
  Scratch<E> told_, arrived_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/exchange_base.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/algorithm/shares.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/flags.hpp>
#include <pactrain/kernel/pack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pactrain {

/// The way of coded reduce-scatters: every rank owns a share of each parameter. Ranks send each
/// owner its share, coded; the owner decodes what arrives in rank order and sums in full precision.
/// Where ranks are grouped in nodes, that happens twice: within the node, then, coded again, among
/// the ranks that stand at the same place in their nodes. At the end owners code their means, and
/// all gather them, unless every rank is to have its own shares only: then they gather what each
/// found in its own. Flags travel behind wires. What is lost where sums are coded is remembered in
/// the codec's state, if it is to be, as long as slots stand for the same positions.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
class ScatteredExchange final
    : public ExchangeBase<ScatteredExchange<T, S, E, C, Options>, T, S, E, C, Options> {
  using Base = ExchangeBase<ScatteredExchange, T, S, E, C, Options>;
  using typename Base::A;
  friend Base;
  static constexpr std::size_t trailer = 8;  // bytes of flags; keeps the next wire aligned

 public:
  ScatteredExchange(const Options& options, codec_state<Options, E>& state)
      : Base(options, state), state_(&state), node_(options.node) {}

  [[nodiscard]] int stages() const { return shares_.hops() + (gathers() || tells() ? 1 : 0); }
  /// The step was accepted: what the sums lost in their codes is remembered.
  void commit(E& exec, Step step) {
    if constexpr (Options::remembers) state_->commit(exec, as_const_span(missed_), fresh_, step);
  }
  /// The step was accepted without these values: nothing is remembered of slots that have moved.
  void pass_over() {
    if constexpr (Options::remembers) {
      if (fresh_) state_->forget();
    }
  }

 private:
  void step(E& exec, C& comm, int stage) {
    if (stage == 0) {
      shares_.lay_out(this->call_.parts, comm.rank(), this->call_.ranks, node_);
      const auto ordered = ordered_.template take<S>(exec, this->packed_.size());
      shares_.order(exec, as_const_span(this->packed_), ordered);
      begin_memory(exec, comm.rank());
      return scatter(exec, comm, as_const_span(ordered), 0);
    }
    if (stage <= shares_.hops()) add_up(exec, comm.rank(), stage - 1);
    if (stage < shares_.hops()) {
      scatter(exec, comm, with_memory(exec, 0), stage);
    } else if (stage == shares_.hops()) {
      const A divisor = this->options_.mean ? static_cast<A>(this->call_.ranks) : A(1);
      exec.for_each(sums_.size(), kernel::Divide<A, A>{sums_.data(), divisor, sums_.data()});
      if (gathers()) gather(exec, comm, with_memory(exec, missed_.size() - sums_.size()));
      else deliver_share(exec, comm.rank());
      if (tells()) tell(exec, comm);
    } else if (gathers()) {
      deliver_all(exec);
    } else {
      listen(exec);
    }
  }
  [[nodiscard]] bool gathers() const { return Options::gathers && this->call_.ranks > 1; }
  /// A sum beyond the type is seen by its owner alone, and refuses the step on all ranks.
  [[nodiscard]] bool tells() const {
    return !Options::gathers && this->call_.ranks > 1 && this->options_.check;
  }
  [[nodiscard]] const ShareBlock& share(int rank) const {
    return shares_.all()[static_cast<std::size_t>(rank)];
  }

  /// Codes what goes to each peer of a hop, and sends it.
  template <GradientValue V>
  void scatter(E& exec, C& comm, std::span<const V> values, int hop) {
    const auto blocks = shares_.hop(hop);
    const auto me = static_cast<std::size_t>(comm.rank());
    send_.assign(static_cast<std::size_t>(this->call_.ranks), 0);
    receive_ = send_;
    std::size_t total = 0, own = 0;
    for (const ShareBlock& block : blocks) {
      send_[block.rank] = padded_bytes<V>(block);
      total += send_[block.rank];
      if (block.rank == me) own = send_[me];
    }
    for (const ShareBlock& block : blocks) receive_[block.rank] = own;
    const auto wire = this->wire_.template take<std::byte>(exec, total);
    const auto arrived = arrived_.template take<std::byte>(exec, own * blocks.size());
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      const bool told = hop == 0 ? this->options_.remember : Options::remembers;
      const auto means = told ? fresh(exec, means_, values.size()) : std::span<A>{};
      std::size_t at = 0;
      for (const ShareBlock& block : blocks) {
        const auto to = wire.subspan(at, send_[block.rank]);
        encode(exec, block, values.subspan(block.first, block.size), to, hop);
        if (told) decode(exec, block, to, means.subspan(block.first, block.size));
        at += to.size();
      }
      if (told && hop == 0) {
        this->conveyed_ = this->conveyed_buffer_.template take<A>(exec, values.size());
        shares_.restore(exec, as_const_span(means), this->conveyed_);
      } else if (told) {
        forget(exec, 0, means);
      }
    }
    this->report_->payload_bytes += wire.size();
    this->request_ = this->counted(exec, comm, [&] {
      return comm.start_all_to_all(exec, as_const_span(wire), std::span<const std::size_t>(send_),
                                   arrived, std::span<const std::size_t>(receive_));
    });
  }
  /// Adds what arrived in a hop, in rank order.
  void add_up(E& exec, int rank, int hop) {
    const StageTimer timer(exec, "decode", this->report_->seconds.decode);
    const auto blocks = shares_.hop(hop);
    const auto own = std::ranges::find(blocks, static_cast<std::size_t>(rank), &ShareBlock::rank);
    const std::size_t bytes = receive_[own->rank];
    sums_ = fresh(exec, this->sum_, own->size);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto wire = arrived_.template view<std::byte>(bytes * blocks.size());
      decode(exec, *own, wire.subspan(i * bytes, bytes), sums_);
      take_flags(exec, wire.subspan(i * bytes, bytes));
    }
  }
  /// Codes this rank's means, which all ranks then have alike.
  void gather(E& exec, C& comm, std::span<const A> means) {
    receive_.clear();
    std::size_t total = 0;
    for (const ShareBlock& block : shares_.all()) {
      receive_.push_back(padded_bytes<A>(block));
      total += receive_.back();
    }
    const ShareBlock& own = share(comm.rank());
    const auto wire = this->wire_.template take<std::byte>(exec, receive_[own.rank]);
    const auto all = arrived_.template take<std::byte>(exec, total);
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      encode(exec, own, means, wire, shares_.hops());
      if constexpr (Options::remembers) {
        const auto conveyed = fresh(exec, means_, means.size());
        decode(exec, own, wire, conveyed);
        forget(exec, missed_.size() - means.size(), conveyed);
      }
    }
    this->report_->payload_bytes += wire.size();
    this->request_ = this->counted(exec, comm, [&] {
      return comm.start_all_gather(exec, as_const_span(wire),
                                   std::span<const std::size_t>(receive_), all);
    });
  }
  void deliver_all(E& exec) {
    const StageTimer timer(exec, "decode", this->report_->seconds.decode);
    const auto ordered = fresh(exec, means_, this->packed_.size());
    const auto all = arrived_.template view<std::byte>(0);
    std::size_t at = 0;
    for (const ShareBlock& block : shares_.all()) {
      const std::span<std::byte> wire(all.data() + at, receive_[block.rank]);
      decode(exec, block, wire, ordered.subspan(block.first, block.size));
      take_flags(exec, wire);
      at += wire.size();
    }
    deliver(exec, ordered);
  }
  void deliver_share(E& exec, int rank) {
    const auto ordered = fresh(exec, means_, this->packed_.size());
    exec.copy(as_const_span(sums_), ordered.subspan(share(rank).first, sums_.size()));
    deliver(exec, ordered);
  }
  void tell(E& exec, C& comm) {
    const auto ranks = static_cast<std::size_t>(this->call_.ranks);
    const auto words = arrived_.template take<std::uint64_t>(exec, ranks + 1);
    this->put_flags(exec, words.data() + ranks);
    receive_.assign(ranks, 1);
    this->request_ = this->counted(exec, comm, [&] {
      return comm.start_all_gather(exec, as_const_span(words.subspan(ranks)),
                                   std::span<const std::size_t>(receive_), words.first(ranks));
    });
  }
  void listen(E& exec) {
    const auto words = arrived_.template view<std::uint64_t>(receive_.size());
    for (std::size_t rank = 0; rank < receive_.size(); ++rank) {
      this->unite_flags(exec, words.data() + rank);
    }
  }
  void deliver(E& exec, std::span<A> ordered) {
    const auto values = restored_.template take<A>(exec, ordered.size());
    shares_.restore(exec, as_const_span(ordered), values);
    this->finish_values(exec, values, false);
    if (this->options_.check) {
      find_non_finite(exec, this->values_, this->flags_.data(), this->scratch_);
    }
  }

  [[nodiscard]] CodecCall call_of(const ShareBlock& block, int hop) const {
    CodecCall call = this->call_;
    call.parts = block.parts;
    call.random.seed = kernel::mix(call.random.seed, block.rank + 1);
    call.random.seed = kernel::mix(call.random.seed, static_cast<std::uint64_t>(hop));
    return call;
  }
  template <GradientValue V>
  [[nodiscard]] std::size_t padded_bytes(const ShareBlock& block) const {
    const std::size_t bytes = this->codec_.template wire_bytes<V>(call_of(block, 0));
    return (bytes + trailer - 1) / trailer * trailer + trailer;
  }
  template <GradientValue V>
  void encode(E& exec, const ShareBlock& block, std::span<const V> values,
              std::span<std::byte> wire, int hop) {
    const CodecCall call = call_of(block, hop);
    this->codec_.encode(exec, call, values, wire.first(this->codec_.template wire_bytes<V>(call)));
    auto* const flags = reinterpret_cast<std::uint32_t*>(wire.data() + wire.size() - trailer);
    exec.for_each(this->flags_.size(),
                  kernel::Convert<std::uint32_t, std::uint32_t>{this->flags_.data(), flags});
  }
  void decode(E& exec, const ShareBlock& block, std::span<std::byte> wire, std::span<A> sum) {
    const CodecCall call = call_of(block, 0);
    const std::size_t bytes = this->codec_.template wire_bytes<A>(call);
    this->codec_.decode_add(exec, call, as_const_span(wire.first(bytes)), sum);
  }
  void take_flags(E& exec, std::span<std::byte> wire) {
    exec.for_each(this->flags_.size(),
                  kernel::UniteFlags{wire.data() + wire.size() - trailer, this->flags_.data()});
  }
  std::span<A> fresh(E& exec, Scratch<E>& memory, std::size_t n) {
    const auto zeros = memory.template take<A>(exec, n);
    exec.for_each(n, kernel::Fill<A>{zeros.data(), A{}});
    return zeros;
  }

  /// Room for what the second hop and the gather lose, one after the other.
  void begin_memory(E& exec, int rank) {
    if constexpr (Options::remembers) {
      std::size_t size = gathers() ? share(rank).size : 0;
      if (shares_.hops() == 2) {
        for (const ShareBlock& block : shares_.hop(1)) size += block.size;
      }
      missed_ = missed_buffer_.template take<A>(exec, size);
      fresh_ = this->call_.moved || !state_->template holds<A>(size);
    }
  }
  /// The sums, and what is remembered of earlier ones from `first` on.
  std::span<const A> with_memory(E& exec, std::size_t first) {
    if constexpr (Options::remembers) {
      const auto out = missed_.subspan(first, sums_.size());
      if (fresh_) exec.copy(as_const_span(sums_), out);
      else state_->compensate(exec, first, as_const_span(sums_), out);
      return as_const_span(out);
    } else {
      return as_const_span(sums_);
    }
  }
  void forget(E& exec, std::size_t first, std::span<A> conveyed) {
    exec.for_each(conveyed.size(), kernel::Subtract<A>{conveyed.data(), missed_.data() + first});
  }

  codec_state<Options, E>* state_;
  int node_;
  bool fresh_ = false;  ///< nothing is remembered of these sums
  Shares shares_;
  std::span<A> sums_, missed_;
  std::vector<std::size_t> send_, receive_;
  Scratch<E> ordered_, arrived_, means_, restored_, missed_buffer_;
};

}  // namespace pactrain

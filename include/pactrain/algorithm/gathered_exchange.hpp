// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/exchange_base.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/algorithm/refusal.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/flags.hpp>
#include <pactrain/mask/mask.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// The way of wires that cannot be added: every rank gets all of them, decodes them one by one in
/// rank order, and adds. Before it goes the maximum of the codec's bounds, or the sizes of the
/// wires where they differ, if either is wanted. The flags travel behind every wire.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
class GatheredExchange final
    : public ExchangeBase<GatheredExchange<T, S, E, C, Options>, T, S, E, C, Options> {
  using Base = ExchangeBase<GatheredExchange, T, S, E, C, Options>;
  using typename Base::Codec;
  friend Base;
  static constexpr bool sized = has_sizes<Codec, E>;
  static_assert(!(sized && Base::is_bounded),
                "pactrain: a codec has bounds or wires of different sizes, not both");
  static constexpr std::size_t trailer = 8;  // bytes; keeps the next rank's wire aligned

 public:
  using Base::Base;
  static constexpr int stages() { return sized || Base::is_bounded ? 2 : 1; }

 private:
  void step(E& exec, C& comm, int stage) {
    if (stage == stages()) {
      const StageTimer timer(exec, "decode", this->report_->seconds.decode);
      receive(exec);
    } else if (stage + 1 < stages()) {
      if constexpr (sized) start_sizes(exec, comm);
      else this->start_bounds(exec, comm);
    } else {
      find_sizes(exec, comm);
      send(exec, comm);
    }
  }
  /// Tells all ranks how large this one's wire is, or that it could not be made.
  void start_sizes(E& exec, C& comm) {
    const StageTimer timer(exec, "encode", this->report_->seconds.encode);
    const auto ranks = static_cast<std::size_t>(this->call_.ranks);
    const auto sizes = sizes_.template take<std::uint64_t>(exec, ranks + 1);
    if constexpr (sized) {
      std::uint64_t mine = none;
      try {
        mine = this->codec_.wire_bytes(exec, this->call_, as_const_span(this->packed_));
      } catch (const PreconditionError& error) {  // or the other ranks would wait for this one
        trouble_ = without_prefix(error.what());
      }
      exec.write(std::span<const std::uint64_t>(&mine, 1), sizes.subspan(ranks));
    }
    counts_.assign(ranks, 1);
    this->request_ = this->counted(exec, comm, [&] {
      return comm.start_all_gather(exec, as_const_span(sizes.subspan(ranks)),
                                   std::span<const std::size_t>(counts_), sizes.first(ranks));
    });
  }
  /// The bytes of every rank's wire, padded, with its trailer.
  void find_sizes(E& exec, C& comm) {
    const auto ranks = static_cast<std::size_t>(this->call_.ranks);
    if constexpr (sized) {
      told_.resize(ranks);
      exec.read(as_const_span(sizes_.template view<std::uint64_t>(ranks)), std::span(told_));
      if (std::ranges::find(told_, none) != told_.end()) refuse_trouble(exec, comm, trouble_);
      expects_positions(*std::ranges::max_element(told_) <= most_bytes());
      bytes_.assign(told_.begin(), told_.end());
    } else {
      if constexpr (Base::is_bounded) this->take_bounds(exec);
      bytes_.assign(ranks, this->codec_.template wire_bytes<S>(this->call_));
    }
    counts_.resize(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      counts_[rank] = (bytes_[rank] + trailer - 1) / trailer * trailer + trailer;
    }
  }
  [[nodiscard]] std::uint64_t most_bytes() const {
    const std::size_t n = this->packed_.size();
    if constexpr (requires { this->codec_.template most_wire_bytes<S>(this->call_, n); }) {
      return this->codec_.template most_wire_bytes<S>(this->call_, n);
    } else {
      return std::uint64_t{1} << 48;  // sums of sizes do not wrap
    }
  }
  void send(E& exec, C& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    std::size_t total = 0;
    for (const std::size_t count : counts_) total += count;
    const auto wire = this->wire_.template take<std::byte>(exec, counts_[rank]);
    const auto all = all_.template take<std::byte>(exec, total);
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      const auto coded = wire.first(bytes_[rank]);
      this->codec_.encode(exec, this->call_, as_const_span(this->packed_), coded);
      this->keep_conveyed(exec, as_const_span(coded));
      const std::size_t end = counts_[rank] - trailer;
      exec.for_each(this->flags_.size(),
                    kernel::Convert<std::uint32_t, std::uint32_t>{
                        this->flags_.data(), reinterpret_cast<std::uint32_t*>(wire.data() + end)});
    }
    this->report_->payload_bytes = wire.size();
    this->request_ = this->counted(exec, comm, [&] {
      return comm.start_all_gather(exec, as_const_span(wire), std::span<const std::size_t>(counts_),
                                   all);
    });
  }
  void receive(E& exec) {
    const auto all = as_const_span(all_.template view<std::byte>(0));
    const auto sum = this->zeros(exec, this->packed_.size());
    std::size_t at = 0;
    for (std::size_t rank = 0; rank < counts_.size(); ++rank) {  // the same sum everywhere
      const std::span<const std::byte> wire(all.data() + at, bytes_[rank]);
      this->codec_.decode_add(exec, this->call_, wire, sum);
      at += counts_[rank];
      exec.for_each(this->flags_.size(),
                    kernel::UniteFlags{all.data() + at - trailer, this->flags_.data()});
    }
    this->finish_values(exec, sum, this->options_.mean);
    if (this->options_.check) {
      find_non_finite(exec, this->values_, this->flags_.data(), this->scratch_);
    }
  }

  static constexpr std::uint64_t none = ~std::uint64_t{0};

  std::string trouble_;
  std::vector<std::size_t> bytes_, counts_;
  std::vector<std::uint64_t> told_;
  Scratch<E> all_, sizes_;
};

}  // namespace pactrain

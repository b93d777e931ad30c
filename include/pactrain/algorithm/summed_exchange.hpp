// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/exchange_base.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/flags.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

namespace pactrain {

/// The way of additive wires: one all-reduce. A maximum over ranks comes before it where the codec
/// wants bounds, and for wires of integers, which cannot carry the flags; else these travel in an
/// element of their own, or as a NaN in the first element.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
class SummedExchange final
    : public ExchangeBase<SummedExchange<T, S, E, C, Options>, T, S, E, C, Options> {
  using Base = ExchangeBase<SummedExchange, T, S, E, C, Options>;
  using typename Base::A;
  using typename Base::Codec;
  friend Base;
  static constexpr bool bounded = Base::is_bounded || !has_float_wire<Codec, S>;

 public:
  using Base::Base;
  static constexpr int stages() { return bounded ? 2 : 1; }

 private:
  void step(E& exec, C& comm, int stage) {
    if (stage == stages()) {
      const StageTimer timer(exec, "decode", this->report_->seconds.decode);
      with_wire([&]<class W>() { receive<W>(exec); });
      check(exec);
    } else if (bounded && stage == 0) {
      this->start_bounds(exec, comm);
    } else {
      if constexpr (bounded) this->take_bounds(exec);
      with_wire([&]<class W>() { send<W>(exec, comm); });
    }
  }
  [[nodiscard]] bool in_place() const {
    return is_in_place<Options> && std::same_as<S, T> && !this->options_.remember;
  }
  /// Calls `f` with the type of the wire's elements.
  template <class F>
  void with_wire(F f) {
    const ValueType type = this->codec_.template wire_type<S>(this->call_.ranks);
    [&]<class... W>(WireTypes<W...>) {
      (void)((type == value_type<W> && (f.template operator()<W>(), true)) || ...);
    }(typename Codec::template wires<S>{});
  }
  template <class W>
  void send(E& exec, C& comm) {
    const auto packed = this->packed_;
    const bool flagged = this->options_.flagged && GradientValue<W>;
    std::span<W> wire;
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      const std::size_t size = packed.size() + (flagged ? 1 : 0);
      if (in_place()) {
        if constexpr (std::same_as<W, S>) wire = {packed.data(), size};
      } else {
        wire = this->wire_.template take<W>(exec, size);
        const auto coded = wire.first(packed.size());
        this->codec_.encode(exec, this->call_, as_const_span(packed),
                            std::as_writable_bytes(coded));
        this->keep_conveyed(exec, std::as_bytes(coded));
      }
      if constexpr (GradientValue<W>) {
        const auto* const flags = this->flags_.data();
        if (flagged) {
          exec.for_each(1, kernel::WriteFlags<W>{flags, wire.data() + packed.size()});
        } else if (!wire.empty()) {
          exec.for_each(1, kernel::Poison<W>{flags, wire.data()});
        }
      }
    }
    this->report_->payload_bytes = wire.size_bytes();
    this->request_ = this->counted(exec, comm, [&] {
      if constexpr (GradientValue<W>) {
        if (this->options_.mean) return comm.start_all_reduce(exec, wire, Mean{});
      }
      return comm.start_all_reduce(exec, wire, Sum{});
    });
  }
  template <class W>
  void receive(E& exec) {
    const std::size_t n = this->packed_.size();
    const W* wire = nullptr;
    if (in_place()) {
      if constexpr (std::same_as<W, S> && std::same_as<S, T>) {
        this->values_ = this->packed_;
        wire = this->packed_.data();
      }
    } else {
      wire = this->wire_.template view<W>(n).data();
      const auto sum = this->zeros(exec, n);
      this->codec_.decode_add(exec, this->call_, std::as_bytes(std::span<const W>(wire, n)), sum);
      this->finish_values(exec, sum, this->options_.mean && !GradientValue<W>);
    }
    if constexpr (GradientValue<W>) {
      if (this->options_.flagged) {
        exec.for_each(1, kernel::ReadFlags<W>{wire + n, this->flags_.data()});
      }
    }
  }
  /// A flag that took the place of the first value is looked for there, whoever may look.
  void check(E& exec) {
    const std::size_t poisoned = !bounded && !this->options_.flagged ? 1 : 0;
    const std::size_t n = this->values_.size();
    const std::size_t looked_at = this->options_.check ? n : std::min(n, poisoned);
    find_non_finite(exec, this->values_.first(looked_at), this->flags_.data(), this->scratch_);
  }
};

}  // namespace pactrain

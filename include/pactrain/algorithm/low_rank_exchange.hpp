// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/exchange_base.hpp>
#include <pactrain/algorithm/low_rank_layout.hpp>
#include <pactrain/algorithm/multiply.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/flags.hpp>
#include <pactrain/kernel/low_rank.hpp>
#include <pactrain/kernel/matrix.hpp>
#include <pactrain/kernel/orthonormalise.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// The way of matrices in two factors (see `LowRank`): an all-reduce of the values that travel as
/// they are, the left factors and a flag; one of the right factors, which waits for the first,
/// where there is a matrix. Values travel in the type of sums.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
class LowRankExchange final
    : public ExchangeBase<LowRankExchange<T, S, E, C, Options>, T, S, E, C, Options> {
  using Base = ExchangeBase<LowRankExchange, T, S, E, C, Options>;
  using typename Base::A;
  using Shape = LowRankLayout::Shape;
  friend Base;

 public:
  LowRankExchange(const Options& options, codec_state<Options, E>& state)
      : Base(options, state), method_(options), state_(&state) {}

  [[nodiscard]] int stages() const { return layout_.matrices.empty() ? 1 : 2; }
  /// The step was accepted: the next one goes on from its factors.
  void commit(E& exec, Step) {
    for (const Shape& shape : layout_.matrices) {
      state_->template commit<A>(exec, shape.part, as_const_span(right(next_, shape)));
    }
  }

 private:
  void step(E& exec, C& comm, int stage) {
    if (stage == 0) {
      lay_out(exec);
      encode_lefts(exec);
      sum(exec, comm, first());
      return;
    }
    if (stage == 1) take_flags(exec);
    if (stage < stages()) {
      encode_rights(exec);
      sum(exec, comm, next_.template view<A>(layout_.rights));
    } else {
      deliver(exec);
    }
  }

  void lay_out(E& exec) {
    state_->template bind<A>(exec, *this->call_.model);
    const bool starts = this->call_.random.step >= method_.start;
    layout_.lay_out(*this->call_.model, this->call_.parts,
                    [&](std::size_t part) { return starts ? state_->rank(part) : 0; });
  }
  /// What travels first: values as they are, left factors, and the flag.
  [[nodiscard]] std::span<A> first() const {
    return first_.template view<A>(layout_.plain + layout_.lefts + 1);
  }
  [[nodiscard]] A* left(const Shape& shape) const {
    return first().data() + layout_.plain + shape.left;
  }
  [[nodiscard]] static std::span<A> right(const Scratch<E>& factors, const Shape& shape) {
    return {factors.template view<A>(0).data() + shape.right, shape.rank * shape.cols};
  }
  [[nodiscard]] kernel::Matrix<A> matrix(const Shape& shape) const {
    if constexpr (std::same_as<S, A>) {
      return {this->packed_.data() + shape.first, shape.rows, shape.cols};
    } else {
      return {matrices_.template view<A>(0).data() + shape.first, shape.rows, shape.cols};
    }
  }

  void encode_lefts(E& exec) {
    const StageTimer timer(exec, "encode", this->report_->seconds.encode);
    const S* const packed = this->packed_.data();
    const auto payload = first_.template take<A>(exec, layout_.plain + layout_.lefts + 1);
    for (const auto& run : layout_.runs) {
      exec.for_each(run.size, kernel::Convert<S, A>{packed + run.first, payload.data() + run.at});
    }
    if constexpr (!std::same_as<S, A>) {
      const auto values = matrices_.template take<A>(exec, this->packed_.size());
      exec.for_each(values.size(), kernel::Convert<S, A>{packed, values.data()});
    }
    prepare(exec);
    for (const Shape& shape : layout_.matrices) {
      times(exec, matrix(shape), right(right_, shape).data(), shape.rank, left(shape));
    }
    exec.for_each(1, kernel::WriteFlags<A>{this->flags_.data(), &payload.back()});
  }
  /// Right factors of columns of length one; those that are zeros are drawn.
  void prepare(E& exec) {
    right_.template take<A>(exec, layout_.rights);
    const auto lengths = lengths_.template take<double>(exec, method_.rank);
    for (const Shape& shape : layout_.matrices) {
      const A* const from =
          method_.warm_start ? state_->template factor<A>(shape.part).data() : nullptr;
      const auto to = right(right_, shape);
      exec.for_each(shape.rank, kernel::ColumnLength<A>{from, shape.cols, lengths.data()});
      exec.for_each(to.size(), kernel::PrepareColumns<A>{from,
                                                         lengths.data(),
                                                         shape.cols,
                                                         {method_.seed, this->call_.random.step},
                                                         shape.part,
                                                         to.data()});
    }
  }
  void encode_rights(E& exec) {
    const StageTimer timer(exec, "encode", this->report_->seconds.encode);
    orthonormalise(exec);
    const auto next = next_.template take<A>(exec, layout_.rights);
    for (const Shape& shape : layout_.matrices) {
      transposed_times(exec, matrix(shape), left(shape), shape.rank, right(next_, shape).data(),
                       this->scratch_);
    }
    if (method_.is_local() && this->options_.remember) {
      exec.copy(as_const_span(next), mine_.template take<A>(exec, next.size()));
    }
  }
  void orthonormalise(E& exec) {
    const auto table = table_.template take<kernel::Columns>(exec, layout_.columns.size());
    if (written_ != layout_.columns) {
      exec.write(std::span<const kernel::Columns>(layout_.columns), table);
      written_ = layout_.columns;
    }
    A* const lefts = first().data() + layout_.plain;
    if (method_.orthonormalise_in == ValueType::float64) {
      exec.for_each(table.size(),
                    kernel::Orthonormalise<double, A>{lefts, table.data(), method_.floor});
    } else {
      exec.for_each(table.size(),
                    kernel::Orthonormalise<float, A>{lefts, table.data(), method_.floor});
    }
  }
  void sum(E& exec, C& comm, std::span<A> payload) {
    this->report_->payload_bytes += payload.size_bytes();
    this->request_ = this->counted(exec, comm, [&] {
      if (this->options_.mean) return comm.start_all_reduce(exec, payload, Mean{});
      return comm.start_all_reduce(exec, payload, Sum{});
    });
  }
  /// A sum that is not finite is flagged before it becomes a column of zeros.
  void take_flags(E& exec) {
    const auto payload = first();
    exec.for_each(1, kernel::ReadFlags<A>{&payload.back(), this->flags_.data()});
    exec.for_each(1, kernel::SuspectStray{this->flags_.data()});
    if (!this->options_.check) return;
    find_non_finite(exec, payload.subspan(layout_.plain, layout_.lefts), this->flags_.data(),
                    this->scratch_);
  }

  void deliver(E& exec) {
    const StageTimer timer(exec, "decode", this->report_->seconds.decode);
    const std::size_t n = this->packed_.size();
    this->values_ = this->values_buffer_.template take<T>(exec, n);
    for (const auto& run : layout_.runs) {
      exec.for_each(run.size, kernel::Convert<A, T>{first().data() + run.at,
                                                    this->values_.data() + run.first});
    }
    for (const Shape& shape : layout_.matrices) {
      approximate(exec, shape, next_, this->values_.data() + shape.first);
    }
    if (this->options_.check) {
      find_non_finite(exec, this->values_, this->flags_.data(), this->scratch_);
    }
    if (this->options_.remember) keep_shares(exec);
  }
  /// This rank's share of a matrix that all convey together is that of the mean, or of its own
  /// factor.
  void keep_shares(E& exec) {
    this->conveyed_ = this->conveyed_buffer_.template take<A>(exec, this->packed_.size());
    A* const conveyed = this->conveyed_.data();
    for (const auto& run : layout_.runs) {
      exec.for_each(run.size,
                    kernel::Convert<S, A>{this->packed_.data() + run.first, conveyed + run.first});
    }
    const A ranks = this->options_.mean ? A(1) : static_cast<A>(this->call_.ranks);
    for (const Shape& shape : layout_.matrices) {
      if (method_.is_local()) {
        approximate(exec, shape, mine_, conveyed + shape.first);
      } else {
        exec.for_each(shape.rows * shape.cols,
                      kernel::ShareOf<T, A>{this->values_.data() + shape.first, ranks,
                                            conveyed + shape.first});
      }
    }
  }
  template <class V>
  void approximate(E& exec, const Shape& shape, const Scratch<E>& factors, V* out) {
    using Approximate = kernel::Approximate<V, A>;
    exec.for_each(Approximate::runs(shape.rows * shape.cols),
                  Approximate{left(shape), right(factors, shape).data(), shape.rows, shape.cols,
                              shape.rank, out});
  }

  Options method_;
  codec_state<Options, E>* state_;
  LowRankLayout layout_;
  std::vector<kernel::Columns> written_;  ///< what `table_` holds
  Scratch<E> first_, matrices_, right_, next_, mine_, lengths_, table_;
};

}  // namespace pactrain

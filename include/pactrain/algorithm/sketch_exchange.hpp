// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/exchange_base.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/algorithm/sketch_heads.hpp>
#include <pactrain/algorithm/sketch_index.hpp>
#include <pactrain/algorithm/sketch_plan.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kernel/sketch_cells.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// The way of sketches (see `Sketch`): heads are gathered, with the flags, then the index, then the
/// sketch is summed. A step with a value that is not finite ends after the heads where somebody
/// wants to know of it (it is refused, or sent without a sketch); else values go as they are.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
class SketchExchange final
    : public ExchangeBase<SketchExchange<T, S, E, C, Options>, T, S, E, C, Options> {
  using Base = ExchangeBase<SketchExchange, T, S, E, C, Options>;
  using typename Base::A;
  friend Base;

 public:
  SketchExchange(const Options& options, codec_state<Options, E>& state)
      : Base(options, state), method_(options), figures_(&state) {}

  [[nodiscard]] int stages() const { return stages_; }
  [[nodiscard]] std::size_t kept() const { return kept_; }

 private:
  void step(E& exec, C& comm, int stage) {
    if (stage == 0) start_heads(exec, comm);
    else if (stage == 1) start_index(exec, comm);
    else if (plain_) deliver_plain(exec);
    else if (stage == 2) start_sketch(exec, comm);
    else with_cell([&]<class Cell>() { deliver<Cell>(exec, comm); });
  }
  template <class F>
  void with_cell(F f) {
    method_.template with_cell<A>(f);
  }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(this->call_.ranks); }

  void start_heads(E& exec, C& comm) {
    stages_ = 3;
    plain_ = false;
    kept_ = this->packed_.size();
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      const auto packed = as_const_span(this->packed_);
      index_.mark(exec, packed);
      heads_.make(exec, packed, index_.count(), as_const_span(this->flags_));
    }
    this->request_ = this->counted(exec, comm, [&] { return heads_.start(exec, comm); });
  }
  void start_index(E& exec, C& comm) {
    const SketchHead head = heads_.read(exec, this->flags_);
    if (head.non_finite && this->options_.check) {
      stages_ = 1;
      return;
    }
    if (head.non_finite) return start_plain(exec, comm);
    largest_ = head.largest;
    std::span<const std::byte> mine;
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      kernel::BloomShape shape;
      if (method_.by_filter()) {
        shape = bloom_shape(this->packed_.size(), head.entries, method_.phantoms, hashes());
      }
      mine = index_.wire(exec, shape);
    }
    const auto all = all_.template take<std::byte>(exec, mine.size() * ranks());
    counts_.assign(ranks(), mine.size());
    this->request_ = this->counted(exec, comm, [&] {
      return comm.start_all_gather(exec, mine, std::span<const std::size_t>(counts_), all);
    });
  }
  void start_sketch(E& exec, C& comm) {
    {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      const auto all = all_.template view<std::byte>(ranks() * counts_[0]);
      index_.merge(exec, as_const_span(all), ranks());
      plan_.make(exec, index_.positions(exec), method_.segment * method_.lanes, method_.lanes,
                 method_.load, hashes());
      kept_ = index_.count();
      figures_->cells = plan_.cells();
      figures_->rounds = plan_.rounds();
      figures_->unresolved = plan_.unresolved();
      figures_->index_bits = index_.bits();
      with_cell([&]<class Cell>() { encode<Cell>(exec); });
    }
    with_cell([&]<class Cell>() { send<Cell>(exec, comm); });
  }
  /// Of this step.
  [[nodiscard]] std::uint64_t hashes() const {
    return kernel::mix(method_.seed, this->call_.random.step);
  }
  /// Entries that travel as they are, behind the cells.
  [[nodiscard]] std::size_t exact() const { return method_.repairs() ? plan_.unresolved() : 0; }
  template <class Cell>
  [[nodiscard]] std::span<Cell> payload() const {
    return payload_.template view<Cell>(plan_.cells() + exact());
  }
  template <class Cell>
  [[nodiscard]] Cell* behind() const {
    return method_.repairs() ? payload<Cell>().data() + plan_.cells() : nullptr;
  }
  /// The unit under which the sum of all ranks' values fits a cell.
  template <class Cell>
  [[nodiscard]] kernel::SketchValue<Cell> as() const {
    if constexpr (std::integral<Cell>) return kernel::fixed_point<Cell>(largest_, ranks());
    else return {};
  }

  template <class Cell>
  void encode(E& exec) {
    const std::size_t n = this->packed_.size();
    const auto items = items_.template take<S>(exec, kept_);
    const auto found = found_.template take<std::size_t>(exec, 2);
    payload_.template take<Cell>(exec, plan_.cells() + exact());
    pack(exec, index_.mask(), Piece<const S>{0, 0, 0, n, this->packed_.data()}, items.data(), 0,
         static_cast<std::uint32_t*>(nullptr), this->scratch_);
    const auto cells = payload<Cell>();
    exec.for_each(cells.size(), kernel::Fill<Cell>{cells.data(), Cell(0)});
    exec.for_each(plan_.segments(),
                  kernel::EncodeSketch<S, Cell>{plan_.plan(), as<Cell>(), items.data(),
                                                cells.data(), behind<Cell>()});
    exec.reduce(kept_, std::size_t{0}, kernel::Inexact<S, Cell>{items.data(), as<Cell>()},
                kernel::Add{}, std::span<std::size_t, 1>(&found[0], 1));
    if (this->options_.remember) {
      this->conveyed_ = this->conveyed_buffer_.template take<A>(exec, n);
      exec.for_each(
          n, kernel::AsHeld<S, Cell, A>{this->packed_.data(), as<Cell>(), this->conveyed_.data()});
    }
  }
  template <class Cell>
  void send(E& exec, C& comm) {
    const auto cells = payload<Cell>();
    this->report_->payload_bytes = cells.size_bytes();
    if (cells.empty()) {
      stages_ = 2;
      return deliver<Cell>(exec, comm);
    }
    this->request_ =
        this->counted(exec, comm, [&] { return comm.start_all_reduce(exec, cells, Sum{}); });
  }
  template <class Cell>
  void deliver(E& exec, C& comm) {
    const StageTimer timer(exec, "decode", this->report_->seconds.decode);
    const double divisor = this->options_.mean ? static_cast<double>(ranks()) : 1.0;
    const auto cells = payload<Cell>();
    const auto sums = sums_.template take<T>(exec, kept_);
    exec.for_each(plan_.segments(),
                  kernel::DecodeSketch<T, Cell>{plan_.plan(), as<Cell>(), divisor, cells.data(),
                                                behind<Cell>(), sums.data()});
    const auto found = found_.template view<std::size_t>(2);
    exec.reduce(plan_.cells(), std::size_t{0}, kernel::CellLeft<Cell>{cells.data()}, kernel::Or{},
                std::span<std::size_t, 1>(&found[1], 1));
    this->values_ = this->values_buffer_.template take<T>(exec, this->packed_.size());
    unpack(exec, index_.mask(), sums.data(), 0,
           Piece<T>{0, 0, 0, this->values_.size(), this->values_.data()});
    if (this->options_.check) find_non_finite(exec, sums, this->flags_.data(), this->scratch_);
    std::size_t host[2];
    exec.read(as_const_span(found), std::span<std::size_t>(host));
    figures_->rounded = host[0];
    const bool peeled = method_.repairs() || plan_.unresolved() == 0;
    if (std::integral<Cell> && peeled && host[1] != 0) broken(comm);
  }
  [[noreturn]] static void broken(C& comm) {
    const std::string what =
        "a sketch was not empty when all entries had been taken out of it (sums of integers are "
        "exact: memory, or the transport, has changed a value)";
    comm.abort(what.c_str());
    throw BackendError("pactrain: " + what + "; look for faults of the machine");
  }

  void start_plain(E& exec, C& comm) {
    stages_ = 2;
    plain_ = true;
    const auto values = payload_.template take<A>(exec, this->packed_.size());
    exec.for_each(values.size(), kernel::Convert<S, A>{this->packed_.data(), values.data()});
    if (this->options_.remember) {
      this->conveyed_ = this->conveyed_buffer_.template take<A>(exec, values.size());
      exec.copy(as_const_span(values), this->conveyed_);
    }
    this->report_->payload_bytes = values.size_bytes();
    this->request_ = this->counted(exec, comm, [&] {
      if (this->options_.mean) return comm.start_all_reduce(exec, values, Mean{});
      return comm.start_all_reduce(exec, values, Sum{});
    });
  }
  void deliver_plain(E& exec) {
    const StageTimer timer(exec, "decode", this->report_->seconds.decode);
    this->values_ = this->values_buffer_.template take<T>(exec, this->packed_.size());
    exec.for_each(this->values_.size(),
                  kernel::Convert<A, T>{payload_.template view<A>(0).data(), this->values_.data()});
  }

  Options method_;
  codec_state<Options, E>* figures_;
  int stages_ = 3;
  bool plain_ = false;
  std::size_t kept_ = 0;
  double largest_ = 0;
  SketchHeads<E> heads_;
  SketchIndex<E> index_;
  SketchPlan<E> plan_;
  std::vector<std::size_t> counts_;
  Scratch<E> all_, items_, sums_, payload_, found_;
};

}  // namespace pactrain

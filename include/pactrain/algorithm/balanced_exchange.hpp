// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/balanced_state.hpp>
#include <pactrain/algorithm/exchange_base.hpp>
#include <pactrain/algorithm/item_gather.hpp>
#include <pactrain/algorithm/kept_list.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/algorithm/select_largest.hpp>
#include <pactrain/algorithm/sparse_stream.hpp>
#include <pactrain/algorithm/stream_scatter.hpp>
#include <pactrain/algorithm/threshold_choice.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/balance.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kernel/streams.hpp>
#include <pactrain/mask/mask.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pactrain {

/// Ok-Topk's way (see `Balanced`): [cuts of regions], counts, items to owners, [numbers of sums,
/// sums], numbers of chosen sums, [items spread evenly], items to all; in brackets what is not done
/// at every step. Where everything is kept, regions are even and all values go to all.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
class BalancedExchange final
    : public ExchangeBase<BalancedExchange<T, S, E, C, Options>, T, S, E, C, Options> {
  using Base = ExchangeBase<BalancedExchange, T, S, E, C, Options>;
  using typename Base::A;
  friend Base;
  enum class Stage { cuts, counts, items, numbers, sums, chosen, spread, gather };

 public:
  BalancedExchange(const Options& options, codec_state<Options, E>& state)
      : Base(options, state), state_(&state) {}

  [[nodiscard]] int stages() const { return static_cast<int>(plan_.size()); }
  /// The step was accepted: thresholds and regions are remembered.
  void commit(E&, Step) { state_->commit(next_); }

 private:
  void step(E& exec, C& comm, int at) {
    if (at == 0) begin(exec);
    else end(exec, comm, plan_[static_cast<std::size_t>(at) - 1]);
    if (at == stages()) return deliver(exec);
    const Stage stage = plan_[static_cast<std::size_t>(at)];
    const auto rank = static_cast<std::size_t>(comm.rank());
    if (stage == Stage::counts) scatter_.split(exec, choice_.chosen(), cuts_);
    if (stage == Stage::items) {
      const StageTimer timer(exec, "encode", this->report_->seconds.encode);
      scatter_.encode(exec, this->packed_.data());
      this->report_->payload_bytes += scatter_.wire().size();
    }
    if (stage == Stage::chosen) pick(exec, rank);
    this->request_ = this->counted(exec, comm, [&] { return launch(exec, comm, stage); });
    if (stage == Stage::sums) this->report_->payload_bytes += scatter_.sum().values().size_bytes();
    if (stage == Stage::spread) this->report_->payload_bytes += gather_.scattered_bytes();
    if (stage == Stage::gather) this->report_->payload_bytes += gathered_bytes(rank);
  }
  [[nodiscard]] typename C::request launch(E& exec, C& comm, Stage stage) {
    switch (stage) {
      case Stage::cuts:
        return start_cuts(exec, comm);
      case Stage::counts:
        return scatter_.tell(exec, comm);
      case Stage::items:
        return scatter_.send(exec, comm);
      case Stage::numbers:
        return start_numbers(exec, comm, scatter_.sum().size());
      case Stage::sums:
        return start_sums(exec, comm);
      case Stage::chosen:
        return start_numbers(exec, comm, picked_.count());
      case Stage::spread:
        return gather_.scatter(exec, comm);
      default:
        return everything_ ? start_all_values(exec, comm) : gather_.gather(exec, comm);
    }
  }
  void end(E& exec, C& comm, Stage stage) {
    const StageTimer timer(exec, "decode", this->report_->seconds.decode);
    if (stage == Stage::cuts) take_cuts(exec);
    if (stage == Stage::counts) scatter_.listen(exec, comm);
    if (stage == Stage::items) scatter_.add_up(exec, comm);
    if (stage == Stage::numbers) take_numbers(exec);
    if (stage == Stage::sums) find_threshold(exec, static_cast<std::size_t>(comm.rank()));
    if (stage == Stage::chosen) {
      take_numbers(exec);
      if (everything_) return;
      gather_.agree(numbers_);
      follow(gather_.total());
      if (gather_.uneven()) plan_.insert(plan_.end() - 1, Stage::spread);
    }
    if (stage == Stage::spread) gather_.spread(exec, comm.rank());
  }

  /// Chooses, and plans what this step takes; the same on all ranks.
  void begin(E& exec) {
    const StageTimer timer(exec, "encode", this->report_->seconds.encode);
    const Options& options = this->codec_.options();
    const std::size_t n = this->packed_.size();
    const Step now = this->call_.random.step;
    k_ = options.policy.kept_of(n);
    everything_ = k_ >= n || now < options.dense_steps;
    next_ = state_->memory();
    if (!next_.cuts.empty() && next_.cuts.back() != n) next_ = {};  // the mask has changed
    const bool local_due = everything_ || next_.local_due <= now;
    choice_.choose(exec, as_const_span(this->packed_), everything_ ? n : k_,
                   local_due ? 0 : next_.local);
    this->codec_.keep(choice_.chosen().count);
    cuts_.assign(1, 0);
    for (int r = 0; r < this->call_.ranks; ++r) {
      cuts_.push_back(share_of(n, r, this->call_.ranks).end);
    }
    plan_ = {Stage::counts, Stage::items};
    if (!everything_) {
      next_.local = choice_.threshold();
      if (choice_.exact()) next_.local_due = now + options.threshold_period;
      next_.local = drifted(next_.local, choice_.chosen().count, 5, 4, options.local_drift);
      if (options.region_period != 0 && next_.cuts.size() == cuts_.size()) {
        cuts_.assign(next_.cuts.begin(), next_.cuts.end());
      }
      if (options.region_period != 0 && next_.regions_due <= now && this->call_.ranks > 1) {
        plan_.insert(plan_.begin(), Stage::cuts);
        next_.regions_due = now + options.region_period;
      }
      exact_ = next_.global_due <= now || !(next_.global > 0);
      if (exact_) {
        plan_.insert(plan_.end(), {Stage::numbers, Stage::sums});
        next_.global_due = now + options.threshold_period;
      }
    }
    plan_.insert(plan_.end(), {Stage::chosen, Stage::gather});
  }
  /// A threshold moves where fewer than 2k/3 are chosen, or more than `most / of` k.
  [[nodiscard]] double drifted(double threshold, std::size_t count, std::size_t most,
                               std::size_t of, double factor) const {
    if (3 * count < 2 * k_) return threshold / factor;
    return of * count > most * k_ ? threshold * factor : threshold;
  }
  /// The sums' threshold follows their number; after a burst the next step finds it anew.
  void follow(std::size_t total) {
    next_.global = drifted(next_.global, total, 4, 3, this->codec_.options().global_drift);
    if (total > 2 * k_) next_.global_due = 0;
  }

  /// Regions by this rank's choices; those of all ranks are averaged.
  [[nodiscard]] typename C::request start_cuts(E& exec, C& comm) {
    const std::size_t ranks = cuts_.size() - 1;
    const auto cuts = shared_.template take<std::uint64_t>(exec, ranks - 1);
    const kernel::Indices chosen = choice_.chosen();
    if (chosen.count < ranks) {  // too few to be spread: even regions
      std::vector<std::uint64_t> even;
      for (std::size_t r = 1; r < ranks; ++r) {
        even.push_back(share_of(this->packed_.size(), static_cast<int>(r), comm.size()).begin);
      }
      exec.write(std::span<const std::uint64_t>(even), cuts);
    } else {
      exec.for_each(ranks - 1, kernel::EqualCuts{chosen, ranks, cuts.data()});
    }
    return comm.start_all_reduce(exec, cuts, Sum{});
  }
  void take_cuts(E& exec) {
    const std::size_t ranks = cuts_.size() - 1, n = this->packed_.size();
    std::vector<std::uint64_t> sums(ranks - 1);
    exec.read(as_const_span(shared_.template view<std::uint64_t>(ranks - 1)), std::span(sums));
    for (std::size_t r = 1; r < ranks; ++r) {  // whatever was summed, regions follow each other
      cuts_[r] = std::clamp<std::size_t>(sums[r - 1] / ranks, cuts_[r - 1], n);
    }
    cuts_[ranks] = n;
    next_.cuts.assign(cuts_.begin(), cuts_.end());
  }

  /// How many of something each rank has, no more than its region's positions; and the flags.
  [[nodiscard]] typename C::request start_numbers(E& exec, C& comm, std::uint64_t mine) {
    const std::size_t ranks = cuts_.size() - 1;
    const auto told = shared_.template take<std::uint64_t>(exec, 2 * ranks + 2);
    const auto own = told.subspan(2 * ranks);
    exec.write(std::span<const std::uint64_t>(&mine, 1), own.first(1));
    this->put_flags(exec, own.data() + 1);
    bytes_.assign(ranks, 2);
    return comm.start_all_gather(exec, as_const_span(own), std::span<const std::size_t>(bytes_),
                                 told.first(2 * ranks));
  }
  void take_numbers(E& exec) {
    const std::size_t ranks = cuts_.size() - 1;
    const auto shared = shared_.template view<std::uint64_t>(2 * ranks);
    std::vector<std::uint64_t> told(2 * ranks);
    exec.read(as_const_span(shared), std::span(told));
    numbers_.clear();
    for (std::size_t r = 0; r < ranks; ++r) {
      expects_positions(told[2 * r] <= scatter_.range(r));
      numbers_.push_back(told[2 * r]);
      this->unite_flags(exec, shared.data() + 2 * r + 1);
    }
  }

  /// All sums, for the k-th largest of them.
  [[nodiscard]] typename C::request start_sums(E& exec, C& comm) {
    std::size_t total = 0;
    for (const std::size_t number : numbers_) total += number;
    return comm.start_all_gather(exec, as_const_span(scatter_.sum().values()),
                                 std::span<const std::size_t>(numbers_),
                                 sums_.template take<A>(exec, total));
  }
  void find_threshold(E& exec, std::size_t rank) {
    std::size_t total = 0, before = 0;
    for (std::size_t r = 0; r < numbers_.size(); ++r) {
      before += r < rank ? numbers_[r] : 0;
      total += numbers_[r];
    }
    const Ranked<A> run{as_const_span(sums_.template view<A>(total)), {}};
    select_largest(exec, std::span(&run, 1), k_, std::span(&cut_, 1), this->scratch_);
    next_.global = ThresholdChoice<A, E>::value_of(cut_.bar);
    cut_.below = std::clamp(cut_.below, before, before + numbers_[rank]) - before;
  }
  /// Picks this rank's sums that all ranks are to get.
  void pick(E& exec, std::size_t rank) {
    const StageTimer timer(exec, "encode", this->report_->seconds.encode);
    if (everything_) return picked_.fill(exec, 0, kernel::Among{});
    const auto& sum = scatter_.sum();
    if (!exact_) cut_ = {least_magnitude<A>(next_.global), sum.size()};
    picked_.fill(exec, sum.size(), kernel::KeepLargest<A>{sum.values().data(), {}, cut_});
    const kernel::Indices positions = sum.dense() ? kernel::Indices{} : sum.positions();
    gather_.pick(exec, this->packed_.size(), picked_.indices(), as_const_span(sum.values()),
                 positions, cuts_[rank], divisor());
  }
  [[nodiscard]] A divisor() const {
    return this->options_.mean ? static_cast<A>(this->call_.ranks) : A(1);
  }

  [[nodiscard]] std::size_t gathered_bytes(std::size_t rank) const {
    return everything_ ? scatter_.range(rank) * sizeof(T) : gather_.wire().size();
  }
  [[nodiscard]] typename C::request start_all_values(E& exec, C& comm) {
    const auto& sum = scatter_.dense_sum(exec);
    const auto wire = this->wire_.template take<T>(exec, sum.size());
    exec.for_each(sum.size(), kernel::Divide<A, T>{sum.values().data(), divisor(), wire.data()});
    numbers_.clear();
    for (std::size_t r = 0; r + 1 < cuts_.size(); ++r) numbers_.push_back(scatter_.range(r));
    this->values_ = this->values_buffer_.template take<T>(exec, this->packed_.size());
    return comm.start_all_gather(exec, as_const_span(wire), std::span<const std::size_t>(numbers_),
                                 this->values_);
  }
  void deliver(E& exec) {
    const StageTimer timer(exec, "decode", this->report_->seconds.decode);
    if (everything_) {
      this->keep_chosen(exec, choice_.chosen());
    } else {
      const auto streams = gather_.streams();
      expects_positions(in_order(exec, streams, this->scratch_));
      const std::size_t n = this->packed_.size();
      this->values_ = this->values_buffer_.template take<T>(exec, n);
      exec.for_each(n, kernel::Fill<T>{this->values_.data(), T{}});
      this->keep_chosen(exec, {});
      for (const auto& stream : streams) {
        exec.for_each(stream.items,
                      kernel::PlaceItems<T, T>{stream.positions(), stream.values().data(),
                                               this->values_.data()});
        if (!this->options_.remember) continue;
        using Met = kernel::ConveyMet<kernel::KeepLargest<S>, S, T, A>;
        exec.for_each(stream.items, Met{stream.positions(), choice_.keep(), this->packed_.data(),
                                        this->conveyed_.data()});
      }
    }
    if (this->options_.check) {
      find_non_finite(exec, this->values_, this->flags_.data(), this->scratch_);
    }
  }

  codec_state<Options, E>* state_;
  BalancedMemory next_;
  std::vector<Stage> plan_;
  std::size_t k_ = 0;
  bool everything_ = false, exact_ = false;
  ThresholdChoice<S, E> choice_;
  StreamScatter<T, E> scatter_;
  KeptList<E> picked_;
  kernel::Cut<A> cut_;
  ItemGather<T, E> gather_;
  std::vector<std::size_t> cuts_, numbers_, bytes_;
  Scratch<E> shared_, sums_;
};

}  // namespace pactrain

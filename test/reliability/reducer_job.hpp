// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/values.hpp>

#include <pactrain/core/error.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/core/slices.hpp>
#include <pactrain/gradient_buckets.hpp>
#include <pactrain/policy/policy.hpp>

#include <reliability/job.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace pactrain::test {

/// How a job of a reducer differs from others.
struct JobShape {
  double oracle_gamma = -1;  ///< of the oracle; negative: no oracle
  bool everything = false;   ///< the oracle keeps all: what a learned mask drops is zero anyway
  std::size_t period = 1;    ///< of the entries, one in so many has a gradient, but for strays
  bool strays = false;       ///< an unusual step is one with a stray, not with an infinity
  NonFinite non_finite = NonFinite::reject;
  bool buckets = false;
};

template <class R>
class ReducerJob final : public Job {
 public:
  static constexpr std::size_t rows = 24, columns = 40, tail = 517, entries = rows * columns + tail;
  using Weights = std::vector<Slice<float>>;

  /// `make(backend, weights, options)` returns the reducer.
  template <class Make>
  ReducerJob(FaultyBackend& backend, FaultPlan& plan, std::uint64_t seed, std::string name,
             JobShape shape, Make make)
      : backend_(backend),
        plan_(plan),
        seed_(seed),
        name_(std::move(name)),
        shape_(shape),
        weights_(starting_weights()),
        gradient_(entries),
        reduce_(make(backend, slices(weights_), ReduceOptions{.non_finite = shape.non_finite})),
        buckets_(shape.buckets ? std::make_unique<GradientBuckets<R, float>>(
                                     reduce_, slices(gradient_), BucketOptions{.bytes = 2048})
                               : nullptr) {
    if (buckets_) reduce_.introduce(slices(gradient_));
  }

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Step step() const override { return reduce_.step(); }
  void advance() override {
    const Step step = reduce_.step();
    plan_.enter(name_, step);
    const Events events = Events::of(seed_, step, ranks(), entries);
    const std::vector<float> usual = gradient_of(rank());
    gradient_ = usual;
    if (events.unusual && !shape_.strays) {
      if (rank() == events.culprit) {
        gradient_[events.where] = std::numeric_limits<float>::infinity();
      }
      bool refused = false;
      unless_lost([&] {
        try {
          reduce();
        } catch (const StepRejected&) {
          refused = true;
        }
      });
      if (shape_.non_finite == NonFinite::propagate) return take();
      if (!refused) complaints_.push_back(name_ + ": an infinity was not refused");
      if (reduce_.step() != step) complaints_.push_back(name_ + ": a refused step counts");
      gradient_ = usual;
    }
    unless_lost([&] { reduce(); });
    take();
  }
  void save(std::ostream& out) override {
    out.write(reinterpret_cast<const char*>(weights_.data()),
              static_cast<std::streamsize>(entries * sizeof(float)));
    reduce_.save(out);
  }
  void load(std::istream& in) override {
    in.read(reinterpret_cast<char*>(weights_.data()),
            static_cast<std::streamsize>(entries * sizeof(float)));
    reduce_.load(in);
  }
  [[nodiscard]] const std::vector<float>& weights() const override { return weights_; }
  [[nodiscard]] const std::vector<std::string>& complaints() const override { return complaints_; }
  [[nodiscard]] std::unique_ptr<Oracle> oracle() const override {
    if (shape_.oracle_gamma < 0) return nullptr;
    return std::make_unique<Oracle>(ranks(), entries, Reduction::mean, shape_.oracle_gamma, drops);
  }
  [[nodiscard]] std::vector<float> gradient_of(int rank) const override {
    const Step step = reduce_.step();
    const Events events = Events::of(seed_, step, ranks(), entries);
    std::vector<float> gradient(entries);
    for (std::size_t i = 0; i < entries; ++i) {
      const bool stray =
          shape_.strays && events.unusual && rank == events.culprit && i == events.where;
      if (i % shape_.period != 0 && !stray) continue;
      const auto from = static_cast<std::uint64_t>(rank) + 1000 * step;
      gradient[i] = weights_[i] - noise(i, 7) + 0.5f * noise(i, kernel::mix(seed_, from));
    }
    return gradient;
  }
  [[nodiscard]] const std::vector<float>& result() const override { return gradient_; }
  [[nodiscard]] std::vector<bool> kept() override {
    std::vector<float> ones(entries, 1.0f);
    if (!shape_.everything) reduce_.mask().apply(std::span(ones));
    return std::vector<bool>(ones.begin(), ones.end());
  }

 private:
  static constexpr bool drops = R::policy_type::unkept == Unkept::dropped;

  [[nodiscard]] int rank() const { return backend_.communicator().rank(); }
  [[nodiscard]] int ranks() const { return backend_.communicator().size(); }
  /// In [-1, 1).
  static float noise(std::size_t i, std::uint64_t key) {
    return static_cast<float>(kernel::mix(i, key) >> 40) * 0x1p-23f - 1.0f;
  }
  static std::vector<float> starting_weights() {
    std::vector<float> weights(entries);
    for (std::size_t i = 0; i < entries; ++i) weights[i] = 2 * noise(i, 1);
    return weights;
  }
  static Weights slices(std::vector<float>& values) {
    const std::span<float> all(values);
    return {{"matrix", all.first(rows * columns), rows},
            {"nothing", all.first(0)},
            {"tail", all.last(tail)}};
  }
  void reduce() {
    if (!buckets_) {
      reduce_(slices(gradient_));
      return;
    }
    for (const std::size_t parameter : {2u, 1u, 0u}) buckets_->ready(parameter);
    buckets_->finish();
  }
  [[nodiscard]] std::string state() {
    std::ostringstream out;
    save(out);
    return out.str();
  }
  /// Whatever `call` throws must have left everything as it was, and a lost rank is told with its
  /// step.
  template <class Call>
  void unless_lost(Call call) {
    const std::string before = state();
    const std::vector<float> given = gradient_;
    try {
      call();
    } catch (const WaitError& error) {
      if (!same_bits(gradient_, given)) complaints_.push_back(name_ + ": the gradient has changed");
      if (state() != before) complaints_.push_back(name_ + ": the state has changed");
      if (error.step() != reduce_.step()) {
        complaints_.push_back(name_ + ": the step is not named");
      }
      throw;
    }
  }
  void take() {
    for (std::size_t i = 0; i < entries; ++i) {
      if (std::isfinite(gradient_[i])) weights_[i] -= 0.125f * gradient_[i];
    }
    if constexpr (drops) {
      if (!shape_.everything) reduce_.mask().apply(std::span(weights_));
    }
  }

  FaultyBackend& backend_;
  FaultPlan& plan_;
  std::uint64_t seed_;
  std::string name_;
  JobShape shape_;
  std::vector<float> weights_, gradient_;
  R reduce_;
  std::unique_ptr<GradientBuckets<R, float>> buckets_;
  std::vector<std::string> complaints_;
};

/// The maker of a job of reducer `R`; `make` as `ReducerJob` says.
template <class R, class Make>
JobMaker reducer_job(std::string name, JobShape shape, Make make) {
  return {name, [=](FaultyBackend& backend, FaultPlan& plan, std::uint64_t seed) {
            return std::make_unique<ReducerJob<R>>(backend, plan, seed, name, shape, make);
          }};
}

}  // namespace pactrain::test

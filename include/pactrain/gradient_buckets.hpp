// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/pending.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/slices.hpp>
#include <pactrain/core/trace.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/pack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pactrain {

struct BucketOptions {
  /// Bytes of gradient in a bucket. A larger parameter has a bucket for itself.
  std::size_t bytes = std::size_t{1} << 20;
  /// Where set, for each step: a row "communication" with an interval for each bucket; a row
  /// "ready" with a moment for each parameter, and its bytes; and a row "computing" with the time
  /// from the end of the step before until the last gradient is ready. `pactrain_whatif` reads it.
  Trace* trace = nullptr;
};

/// Reduces a model's gradient in groups of parameters while backward goes on (Li et al., VLDB 2020,
/// section 3.2): in the order in which backward reaches them, each as soon as its last gradient is
/// ready. It only schedules: masks and residuals belong to the reducer `R`, by parameter, so the
/// result has the same bits for any grouping, and a step is accepted or refused as a whole.
///
/// Buckets are started in the same order on all ranks, whatever the order in which gradients become
/// ready. A policy that ranks gradients or learns gets the model in one bucket, at the end.
template <class R, GradientValue T>
class GradientBuckets {
 public:
  /// `gradients`: named slices, one a parameter, in the order of the forward pass; their memory
  /// stays where it is. Collective in so far as all ranks make it alike. Throws
  /// `PreconditionError` where a name is missing or given twice.
  GradientBuckets(R& reduce, std::span<const Slice<T>> gradients, BucketOptions options = {})
      : reduce_(&reduce), options_(options) {
    for (const auto& gradient : gradients) {
      expects(!gradient.name.empty(), "a parameter has no name; name every slice of the gradient");
      expects(find(gradient.name) == parameters_.size(), [&] {
        return "two parameters are called '" + gradient.name + "'; give each its own name";
      });
      parameters_.push_back({gradient, 0});
    }
    std::size_t bytes = 0;
    for (std::size_t i = parameters_.size(); i-- > 0;) {  // backward
      Parameter& parameter = parameters_[i];
      const std::size_t size = parameter.gradient.values.size_bytes();
      const bool full = bytes > 0 && size > 0 && bytes + size > options_.bytes;
      if (buckets_.empty() || (R::takes_parts && full)) {
        buckets_.emplace_back();
        bytes = 0;
      }
      bytes += size;
      parameter.bucket = buckets_.size() - 1;
      buckets_.back().slices.push_back(parameter.gradient);
    }
    for (Bucket& bucket : buckets_) std::ranges::reverse(bucket.slices);
    all_.assign(gradients.begin(), gradients.end());
    begin_step();
  }
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  [[nodiscard]] std::size_t bucket_count() const noexcept { return buckets_.size(); }

  /// The gradient of a parameter is complete, accumulated over as many backward passes as there
  /// are, and its memory is left alone until `finish`. Starts the buckets that are complete now.
  /// Throws `PreconditionError` for an unknown parameter and for one that is ready already.
  void ready(std::string_view name) { ready_at(find(name)); }
  /// By its place in the list.
  void ready(std::size_t parameter) { ready_at(parameter); }
  /// This rank has no gradient for the parameter in this step: it becomes zeros, and takes part.
  void skip(std::string_view name) { skip_at(find(name)); }
  void skip(std::size_t parameter) { skip_at(parameter); }

  /// Makes progress on what has been started, between two pieces of work, where the transport does
  /// not progress by itself.
  void advance() {
    for (std::size_t i = 0; i < started_; ++i) advance(buckets_[i], i);
  }

  /// Ends the step: skips what is not ready, waits for all buckets, and returns what they did
  /// together. Collective. If one is refused, all are: the first error is thrown, or the first that
  /// not all ranks are told alike, and gradients, residuals, mask and step are as they were (but
  /// for zeros where a parameter was skipped).
  Report finish() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].ready) skip_at(i);
    }
    if (options_.trace != nullptr) {
      note("computing", "step " + std::to_string(step_), begun_, last_ready_, {});
    }
    std::exception_ptr refused, failed;
    const auto keep = [&](std::exception_ptr error) {
      std::exception_ptr& first = is_told_alike(error) ? refused : failed;
      if (!first) first = std::move(error);
    };
    if (failure_) keep(std::exchange(failure_, nullptr));
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      try {
        buckets_[i].pending.check();
      } catch (...) {
        keep(std::current_exception());
      }
      close_interval(buckets_[i], i);
    }
    if (failed) refused = failed;
    Report all;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (refused) {
        buckets_[i].pending.cancel();
      } else if (i == 0) {
        all = buckets_[i].pending.report();
      } else {
        all += buckets_[i].pending.report();
      }
    }
    begin_step();
    if (refused) std::rethrow_exception(refused);
    ++step_;
    return all;
  }

 private:
  struct Parameter {
    Slice<T> gradient;
    std::size_t bucket = 0;
    bool ready = false;
  };
  struct Bucket {
    std::vector<Slice<T>> slices;
    std::size_t missing = 0;
    Pending pending;
    Trace::Clock::time_point start;
    bool under_way = false;  ///< started, and not seen to be done
  };

  [[nodiscard]] std::size_t find(std::string_view name) const {
    const auto found = std::ranges::find_if(
        parameters_, [&](const Parameter& parameter) { return parameter.gradient.name == name; });
    return static_cast<std::size_t>(found - parameters_.begin());
  }
  void begin_step() {
    started_ = 0;
    for (Bucket& bucket : buckets_) bucket.missing = bucket.slices.size();
    for (Parameter& parameter : parameters_) parameter.ready = false;
    if (options_.trace != nullptr) begun_ = last_ready_ = Trace::Clock::now();
  }
  void note(const char* row, std::string name, Trace::Clock::time_point begin,
            Trace::Clock::time_point end, std::optional<std::size_t> bytes) {
    options_.trace->add(row, std::move(name), begin, end, {.step = step_, .bytes = bytes});
  }
  void ready_at(std::size_t i) {
    expects(i < parameters_.size(),
            "no such parameter; use the names and places of the list that "
            "these buckets were made of");
    Parameter& parameter = parameters_[i];
    expects(!parameter.ready, [&] {
      return "'" + parameter.gradient.name +
             "' is ready twice in one step; accumulate all backward passes first, and call "
             "finish() before the next step";
    });
    parameter.ready = true;
    if (options_.trace != nullptr) {
      last_ready_ = Trace::Clock::now();
      note("ready", parameter.gradient.name, last_ready_, last_ready_,
           parameter.gradient.values.size_bytes());
    }
    --buckets_[parameter.bucket].missing;
    while (started_ < buckets_.size() && buckets_[started_].missing == 0) start_next();
  }
  void skip_at(std::size_t i) {
    if (i < parameters_.size() && !parameters_[i].ready) {
      const std::span<T> values = parameters_[i].gradient.values;
      reduce_->backend().executor().for_each(values.size(), kernel::Fill<T>{values.data(), T{}});
    }
    ready_at(i);
  }
  void start_next() {
    reduce_->introduce(all_);
    Bucket& bucket = buckets_[started_++];
    if (failure_) return;  // on every rank
    bucket.start = Trace::Clock::now();
    try {
      bucket.pending = reduce_->start(bucket.slices);
      bucket.under_way = true;
    } catch (...) {  // backward goes on, and `finish` tells
      failure_ = std::current_exception();
    }
  }
  void advance(Bucket& bucket, std::size_t i) {
    if (bucket.under_way && bucket.pending.advance()) close_interval(bucket, i);
  }
  void close_interval(Bucket& bucket, std::size_t i) {
    if (!std::exchange(bucket.under_way, false) || options_.trace == nullptr) return;
    note("communication", "bucket " + std::to_string(i), bucket.start, Trace::Clock::now(), {});
  }

  R* reduce_;
  BucketOptions options_;
  std::vector<Parameter> parameters_;  ///< forward
  std::vector<Bucket> buckets_;        ///< backward
  std::vector<Slice<T>> all_;
  std::size_t started_ = 0;
  std::uint64_t step_ = 0;  ///< of these buckets; for the trace
  Trace::Clock::time_point begun_, last_ready_;
  std::exception_ptr failure_;  ///< of a start
};

/// Deduces the value type from the list of slices.
template <class R, SliceList X>
GradientBuckets(R&, X&&, BucketOptions = {}) -> GradientBuckets<R, slice_value_t<X>>;

}  // namespace pactrain

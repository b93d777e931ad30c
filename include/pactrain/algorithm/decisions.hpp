// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/ways.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/cost/cost_model.hpp>
#include <pactrain/cost/plan.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pactrain {

/// Which way each bucket goes, until when, and what was seen of the buckets meanwhile. A bucket is
/// a set of parameters that are reduced in one call. One that is new goes dense; all are decided
/// upon together, at the first call of a step: by rank 0, from its model and what all ranks have
/// seen.
class Decisions {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t most_codecs = 4;
  struct Bucket {
    std::uint64_t key = 0;      ///< of its parameters
    ReductionSize size{};       ///< in the last step
    double ready = 0;           ///< seconds after the first bucket of that step
    std::size_t candidate = 0;  ///< of `CostModel`
    std::size_t kept_then = 0;  ///< when that was decided
    /// 1 + the last step whose values each codec carried; 0 for none.
    std::array<std::uint64_t, most_codecs> coded{};
  };

  /// `every`: steps between decisions.
  explicit Decisions(Step every) : every_(every) {}

  /// Is this the first call of a step in which is to be decided? The same on all ranks.
  [[nodiscard]] bool due(Step step) const {
    return began_ != 0 && step + 1 > began_ && (late_ || (every_ != 0 && step >= next_));
  }
  /// Decides. Collective; waits. `margin` is as in `plan`.
  template <Executor E, class C>
  void decide(E& exec, C& comm, const CostModel& model, double margin, Step step) {
    share(exec, comm);
    std::vector<PlannedBucket> planned;
    double before = 0, spent = 0;
    for (const Bucket& bucket : buckets_) {
      planned.push_back({bucket.size, bucket.ready - before - spent});
      before = bucket.ready;
      spent = model.cost(bucket.candidate, bucket.size, comm.size()).before;
    }
    auto chosen = plan(model, planned, comm.size(), margin);
    std::vector<std::uint64_t> told(chosen.begin(), chosen.end());
    broadcast_host(exec, comm, std::span(told));
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      if (told[i] >= CostModel::first_codec + model.codecs.size()) {
        throw BackendError(
            "pactrain: what rank 0 sent as its decision is damaged (there is no such way); check "
            "that all ranks run the same build, and the network");
      }
      buckets_[i].candidate = static_cast<std::size_t>(told[i]);
      buckets_[i].kept_then = buckets_[i].size.kept;
    }
    next_ = step + every_;
    late_ = false;
  }
  /// The way of this call, which is noted.
  [[nodiscard]] Way way(const CallSize& call, Step step) {
    std::size_t kept = 0;
    std::uint64_t key = call.parts.size();
    for (const PackedPart& part : call.parts) {
      kept += part.size;
      key = kernel::mix(key, part.part);
    }
    const auto now = Clock::now();
    if (step + 1 > began_) {  // the first call of this step
      if (began_ == 0) late_ = true;
      began_ = step + 1;
      start_ = now;
    }
    if (call.moved) moved_ = step + 1;
    const auto found = std::ranges::find(buckets_, key, &Bucket::key);
    const auto at = static_cast<std::size_t>(found - buckets_.begin());
    if (found == buckets_.end()) buckets_.push_back({.key = key});
    Bucket& bucket = buckets_[at];
    bucket.size = {call.entries, kept, call.value_bytes};
    bucket.ready = std::chrono::duration<double>(now - start_).count();
    const std::size_t off = std::max(kept, bucket.kept_then) - std::min(kept, bucket.kept_then);
    if (every_ != 0 && off * 10 > bucket.kept_then) late_ = true;
    Way way{Path::dense, 0, at, false};
    if (bucket.candidate == CostModel::packed) way.path = Path::uncoded;
    if (bucket.candidate >= CostModel::first_codec) {
      way.path = Path::packed;
      way.codec = bucket.candidate - CostModel::first_codec;
      way.moved = moved_ > bucket.coded[way.codec];
    }
    return way;
  }
  /// A codec has carried a bucket's values in this step.
  void coded(const Way& way, Step step) { buckets_[way.bucket].coded[way.codec] = step + 1; }

  [[nodiscard]] std::span<const Bucket> buckets() const noexcept { return buckets_; }

  /// The next step's first call decides.
  void decide_anew() noexcept { late_ = true; }

  /// Writes what was decided; not the times that were seen.
  void save(Writer& writer) const {
    for (const std::uint64_t x : {next_, began_, moved_, std::uint64_t{late_}}) writer.value(x);
    writer.value(buckets_.size());
    for (const Bucket& bucket : buckets_) {
      writer.value(bucket.key);
      writer.value(bucket.size.entries);
      writer.value(bucket.size.kept);
      writer.value(bucket.size.value_bytes);
      writer.value(bucket.candidate);
      writer.value(bucket.kept_then);
      for (const std::uint64_t x : bucket.coded) writer.value(x);
    }
  }
  /// Throws `StateError` for a candidate that there is not.
  void load(Reader& reader, std::size_t candidates) {
    next_ = reader.value();
    began_ = reader.value();
    moved_ = reader.value();
    late_ = reader.value() != 0;
    const std::uint64_t count = reader.value();
    buckets_.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      Bucket bucket;
      bucket.key = reader.value();
      bucket.size.entries = reader.value();
      bucket.size.kept = reader.value();
      bucket.size.value_bytes = reader.value();
      bucket.candidate = reader.value();
      bucket.kept_then = reader.value();
      for (std::uint64_t& x : bucket.coded) x = reader.value();
      if (bucket.candidate >= candidates || bucket.size.kept > bucket.size.entries) {
        throw StateError("pactrain: the state is damaged (a decision in it cannot be)");
      }
      buckets_.push_back(bucket);
    }
  }

 private:
  template <class T, Executor E, class C>
  static void broadcast_host(E& exec, C& comm, std::span<T> values) {
    if (values.empty()) return;
    auto buffer = exec.template make_buffer<T>(values.size());
    const std::span<T> moved(buffer.data(), values.size());
    exec.write(std::span<const T>(values), moved);
    broadcast(exec, comm, moved, 0);
    exec.read(std::span<const T>(moved), values);
  }
  /// All ranks take rank 0's buckets, and for when they are ready the latest of what ranks saw.
  template <Executor E, class C>
  void share(E& exec, C& comm) {
    std::uint64_t count = buckets_.size();
    broadcast_host(exec, comm, std::span(&count, 1));
    std::vector<Bucket> mine(count);
    if (comm.rank() == 0) mine = buckets_;
    broadcast_host(exec, comm, std::span(mine));
    if (count == 0) return buckets_.clear();
    std::vector<double> ready;
    for (const Bucket& bucket : mine) {
      const auto found = std::ranges::find(buckets_, bucket.key, &Bucket::key);
      ready.push_back(found == buckets_.end() ? 0.0 : found->ready);
    }
    auto buffer = exec.template make_buffer<double>(ready.size());
    const std::span<double> latest(buffer.data(), ready.size());
    exec.write(std::span<const double>(ready), latest);
    all_reduce(exec, comm, latest, Max{});
    exec.read(std::span<const double>(latest), std::span<double>(ready));
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i].ready = ready[i];
    buckets_ = std::move(mine);
  }

  Step every_, next_ = 0;
  std::uint64_t began_ = 0;  ///< 1 + the step under way; 0 before the first
  std::uint64_t moved_ = 0;  ///< 1 + the last step in which the mask changed
  bool late_ = false;        ///< decide at the next step, whatever `every_` says
  Clock::time_point start_{};
  std::vector<Bucket> buckets_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/trace.hpp>

#include <utility>
#include <vector>

namespace pactrain {

/// The part of an executor that writes the stages of calls into a trace: base of those that run on
/// the calling thread, where a stage lasts as long as its work. Costs a test of a pointer a stage
/// while no trace is set.
class StageRecorder {
 public:
  /// From now on stages become intervals in the row "stages" of `trace`, which outlives this use;
  /// null ends it. Not to be called within a reduction.
  void record(Trace* trace) noexcept { trace_ = trace; }

  /// What `StageTimer` and `StageRegion` call. Stages may lie within others.
  void begin_stage(const char* name) {
    if (trace_ != nullptr) open_.emplace_back(name, Trace::Clock::now());
  }
  void end_stage() {
    if (open_.empty()) return;
    const auto [name, begin] = open_.back();
    open_.pop_back();
    if (trace_ != nullptr) trace_->add("stages", name, begin, Trace::Clock::now());
  }

 private:
  Trace* trace_ = nullptr;
  std::vector<std::pair<const char*, Trace::Clock::time_point>> open_;
};

}  // namespace pactrain

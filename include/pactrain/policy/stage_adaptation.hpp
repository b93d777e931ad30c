// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace pactrain {

/// How many stages SIDCo's fits take for one group of entries: a hill-climber on how far the mean
/// of achieved / wanted over a window of calls is from 1. Where a window is worse than the one
/// before, the direction turns; so it does at the ends of the range, where a rule with a fixed sign
/// would stay for ever (more stages are what heavy tails need, which over-select with one, and what
/// light tails need, which under-select).
class StageAdaptation {
 public:
  explicit StageAdaptation(std::size_t stages = 1) : stages_(stages) {}

  [[nodiscard]] std::size_t stages(std::size_t most) const { return std::min(stages_, most); }

  /// A call achieved `ratio` of what was wanted.
  void see(double ratio, std::size_t window, double tolerance, std::size_t most) {
    sum_ += ratio;
    if (++calls_ < window) return;
    const double distance = std::abs(sum_ / static_cast<double>(calls_) - 1);
    sum_ = 0;
    calls_ = 0;
    if (distance <= tolerance) {
      last_ = none;
      return;
    }
    if (last_ != none && distance > last_) up_ = !up_;
    last_ = distance;
    stages_ = stages(most);
    if (up_ ? stages_ == most : stages_ == 1) up_ = !up_;
    if (most > 1) stages_ = up_ ? stages_ + 1 : stages_ - 1;
  }

  void save(Writer& writer) const {
    writer.value(stages_);
    writer.value(calls_);
    writer.value(sum_);
    writer.value(last_);
    writer.value(up_);
  }
  void load(Reader& reader) {
    stages_ = reader.value();
    calls_ = reader.value();
    sum_ = reader.real();
    last_ = reader.real();
    up_ = reader.value() != 0;
  }

 private:
  static constexpr double none = -1;

  std::size_t stages_;
  std::uint64_t calls_ = 0;
  double sum_ = 0, last_ = none;
  bool up_ = true;
};

}  // namespace pactrain

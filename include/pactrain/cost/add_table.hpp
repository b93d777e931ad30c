// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace pactrain {

/// The seconds that adding two vectors takes, by their bytes: measured points, straight lines
/// between them, and flat beyond; without points it costs nothing.
class AddTable {
 public:
  AddTable() = default;
  /// Points (bytes, seconds), in any order. Throws `PreconditionError` where one cannot be.
  explicit AddTable(std::vector<std::pair<double, double>> points) : points_(std::move(points)) {
    for (const auto& [bytes, seconds] : points_) {
      expects(std::isfinite(bytes) && std::isfinite(seconds) && bytes >= 0 && seconds >= 0,
              "a point of the cost of adding is negative or not finite; measure it again");
    }
    std::ranges::sort(points_);
  }
  [[nodiscard]] double operator()(double bytes) const {
    if (points_.empty()) return 0;
    const auto after =
        std::ranges::upper_bound(points_, bytes, {}, [](const auto& point) { return point.first; });
    if (after == points_.begin()) return after->second;
    const auto& [from, at_from] = *(after - 1);
    if (after == points_.end()) return at_from;
    return at_from + (after->second - at_from) * (bytes - from) / (after->first - from);
  }

 private:
  std::vector<std::pair<double, double>> points_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/kept_list.hpp>
#include <pactrain/algorithm/select_largest.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/indices.hpp>
#include <pactrain/kernel/magnitude.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace pactrain {

/// Is `count` within a third of `k`?
constexpr bool within_a_third(std::size_t count, std::size_t k) {
  return 3 * count >= 2 * k && 3 * count <= 4 * k;
}

/// The largest of a rank's values by a threshold that is found exactly now and then and used again
/// in between, after Ok-Topk (Li and Hoefler, PPoPP'22, arXiv 2201.07598).
template <GradientValue S, Executor E>
class ThresholdChoice {
 public:
  /// Chooses by `threshold`, or exactly `k`, ties by lowest index, where that is 0 (there is none).
  /// Where more than 4k/3 lie above it, it is raised by 3 %, five times at most; then it is found
  /// anew (the released code sends them all). Waits.
  void choose(E& exec, std::span<const S> values, std::size_t k, double threshold) {
    values_ = values;
    exact_ = !(threshold > 0) || k >= values.size();
    for (int raised = 0; !exact_; ++raised, threshold *= 1.03) {
      const bits_t<S> bar = least_magnitude<S>(threshold);
      const Ranked<S> run{values, {}};
      const std::size_t count =
          detail::count_all(exec, std::span(&run, 1), scratch_, [bar](const Ranked<S>& ranked) {
            return kernel::CountAtLeast<S>{ranked.values.data(), ranked.among, bar};
          });
      cut_ = {bar, values.size()};
      threshold_ = threshold;
      if (3 * count <= 4 * k) break;
      exact_ = raised == 5;
    }
    if (exact_) {
      const Ranked<S> run{values, {}};
      select_largest(exec, std::span(&run, 1), k, std::span(&cut_, 1), scratch_);
      threshold_ = value_of(cut_.bar);
    }
    list_.fill(exec, values.size(), keep());
  }
  /// Was the threshold found in this step?
  [[nodiscard]] bool exact() const noexcept { return exact_; }
  /// What the next step may choose by; 0 if everything was chosen.
  [[nodiscard]] double threshold() const noexcept { return threshold_; }
  [[nodiscard]] kernel::KeepLargest<S> keep() const { return {values_.data(), {}, cut_}; }
  [[nodiscard]] kernel::Indices chosen() const { return list_.indices(); }

  /// A magnitude's bits as a number; 0 where it is not finite.
  [[nodiscard]] static double value_of(bits_t<S> bits) {
    const auto value = static_cast<double>(static_cast<arithmetic_t<S>>(bits_as<S>(bits)));
    return std::isfinite(value) ? value : 0;
  }

 private:
  std::span<const S> values_;
  kernel::Cut<S> cut_;
  double threshold_ = 0;
  bool exact_ = true;
  KeptList<E> list_;
  Scratch<E> scratch_;
};

}  // namespace pactrain

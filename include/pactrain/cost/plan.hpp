// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/cost/cost_model.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// A group of parameters that is reduced in one call, in the order of a step: `wait` is the seconds
/// that the caller computes before it can start, after the start of the one before.
struct PlannedBucket {
  ReductionSize size{};
  double wait = 0;
};

/// Seconds from the first wait of a step until all of its buckets are reduced. The caller computes,
/// packs and encodes, one after the other; what is ready goes over one wire in order (the
/// consumer of the what-if study, arXiv 2006.10103); and the caller finishes them in order.
/// `costs[i]` is what bucket i takes; `burst` seconds of flow are free after a pause, and gather
/// again as long as the wire is idle.
inline double step_seconds(std::span<const PlannedBucket> buckets, std::span<const Cost> costs,
                           double burst = 0) {
  double caller = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    caller += std::max(buckets[i].wait, 0.0) + costs[i].before;
  }
  double free = 0, started = 0, credit = burst, done = caller;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    started += std::max(buckets[i].wait, 0.0) + costs[i].before;
    credit = std::min(burst, credit + std::max(0.0, started - free));
    const double saved = std::min(credit, costs[i].flow);
    credit -= saved;
    free = std::max(free, started) + costs[i].wire + costs[i].flow - saved;
    done = std::max(done, free) + costs[i].after;
  }
  return done;
}

/// The same where all buckets go by one candidate.
inline double step_seconds(const CostModel& model, std::span<const PlannedBucket> buckets,
                           std::size_t candidate, int ranks) {
  std::vector<Cost> costs;
  for (const auto& bucket : buckets) costs.push_back(model.cost(candidate, bucket.size, ranks));
  return step_seconds(buckets, costs, model.burst / model.rate);
}

/// Which candidate each bucket goes by. All begin dense; a bucket leaves for a later candidate only
/// where that makes the step shorter by more than `margin` of what the bucket costs by the best
/// earlier one. So what hides behind backward anyway stays dense, and so does everything where
/// nothing pays.
inline std::vector<std::size_t> plan(const CostModel& model, std::span<const PlannedBucket> buckets,
                                     int ranks, double margin) {
  std::vector<std::size_t> choice(buckets.size(), CostModel::dense);
  if (ranks == 1) return choice;
  const double burst = model.burst / model.rate;
  std::vector<Cost> costs;
  for (const auto& bucket : buckets) {
    costs.push_back(model.cost(CostModel::dense, bucket.size, ranks));
  }
  constexpr int sweeps = 3;  // one bucket's choice may make room for another's
  bool changed = true;
  for (int sweep = 0; sweep < sweeps && changed; ++sweep) {
    changed = false;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      costs[i] = model.cost(CostModel::dense, buckets[i].size, ranks);
      std::size_t best = CostModel::dense;
      double shortest = step_seconds(buckets, costs, burst), least_gain = margin * costs[i].total();
      for (std::size_t c = CostModel::packed; c < model.candidates(); ++c) {
        costs[i] = model.cost(c, buckets[i].size, ranks);
        const double seconds = step_seconds(buckets, costs, burst);
        if (seconds < shortest - least_gain) {
          shortest = seconds;
          least_gain = margin * costs[i].total();
          best = c;
        }
      }
      costs[i] = model.cost(best, buckets[i].size, ranks);
      changed = changed || best != choice[i];
      choice[i] = best;
    }
  }
  return choice;
}

}  // namespace pactrain

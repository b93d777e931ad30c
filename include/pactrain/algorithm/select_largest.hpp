// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/kth_largest.hpp>
#include <pactrain/algorithm/ties.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace pactrain {

/// Where to cut each run so that the k largest magnitudes of all runs together are kept: exactly k
/// of those that take part (all where k is larger), ties by lowest index, runs in the order given.
/// The same cuts for every executor and every number of threads. Waits.
template <Executor E, GradientValue T>
void select_largest(E& exec, std::span<const Ranked<T>> runs, std::size_t k,
                    std::span<kernel::Cut<T>> cuts, Scratch<E>& scratch) {
  std::size_t total = 0;
  for (const Ranked<T>& run : runs) total += run.values.size();
  for (std::size_t i = 0; i < runs.size(); ++i) cuts[i] = {0, runs[i].values.size()};
  if (k >= total) return;
  if (k == 0) {  // no magnitude has the sign's bit
    for (auto& cut : cuts) cut = {std::numeric_limits<bits_t<T>>::max(), 0};
    return;
  }
  const Bar<T> bar = kth_largest(exec, runs, k, scratch);
  std::vector<std::size_t> below(runs.size());
  keep_ties(exec, runs, bar.bar, k - bar.above, std::span(below), scratch);
  for (std::size_t i = 0; i < runs.size(); ++i) cuts[i] = {bar.bar, below[i]};
}

}  // namespace pactrain

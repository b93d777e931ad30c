// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/kth_largest.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace pactrain {

/// Of the entries that `count` counts, the first `wanted` are kept: `below[i]` becomes the index in
/// run i below which they are. Runs count in the order given; `count(run)` is 1 or 0 for each entry
/// of a run or of a piece of one. One counting pass, and a bisection of one run where not all fit.
/// Waits.
template <Executor E, GradientValue T, class Count>
void keep_first(E& exec, std::span<const Ranked<T>> runs, Count count, std::size_t wanted,
                std::span<std::size_t> below, Scratch<E>& scratch) {
  const auto found = detail::count_each(exec, runs, scratch, count);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Ranked<T>& run = runs[i];
    if (found[i] <= wanted) {
      below[i] = run.values.size();
      wanted -= found[i];
      continue;
    }
    // Those below `low` are counted; [low, high) holds the end of those wanted.
    std::size_t low = 0, high = run.values.size();
    while (wanted > 0 && high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      const Ranked<T> half{run.values.subspan(low, middle - low),
                           {run.among.words, run.among.first + low}};
      const std::size_t in_half =
          detail::count_all(exec, std::span<const Ranked<T>>(&half, 1), scratch, count);
      if (in_half >= wanted) {
        high = middle;
      } else {
        wanted -= in_half;
        low = middle;
      }
    }
    below[i] = wanted > 0 ? high : 0;
    wanted = 0;
  }
}

/// Of the entries whose magnitude is `bar`, the first `wanted` are kept, as `keep_first` says.
template <Executor E, GradientValue T>
void keep_ties(E& exec, std::span<const Ranked<T>> runs, bits_t<T> bar, std::size_t wanted,
               std::span<std::size_t> below, Scratch<E>& scratch) {
  const auto count = [bar](const Ranked<T>& run) {
    return kernel::CountEqual<T>{run.values.data(), run.among, bar};
  };
  keep_first(exec, runs, count, wanted, below, scratch);
}

}  // namespace pactrain

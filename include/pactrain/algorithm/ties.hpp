// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/kth_largest.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace pactrain {

/// Of the entries whose magnitude is `bar`, the first `wanted` are kept: `below[i]` becomes the
/// index in run i below which they are. Runs count in the order given. One counting pass, and a
/// bisection of one run where not all ties fit. Waits.
template <Executor E, GradientValue T>
void keep_ties(E& exec, std::span<const Ranked<T>> runs, bits_t<T> bar, std::size_t wanted,
               std::span<std::size_t> below, Scratch<E>& scratch) {
  const auto ties = detail::count_each(exec, runs, scratch, [bar](const Ranked<T>& run) {
    return kernel::CountEqual<T>{run.values.data(), run.among, bar};
  });
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Ranked<T>& run = runs[i];
    if (ties[i] <= wanted) {
      below[i] = run.values.size();
      wanted -= ties[i];
      continue;
    }
    // The ties below `low` are counted; [low, high) holds the end of those wanted.
    std::size_t low = 0, high = run.values.size();
    while (wanted > 0 && high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      auto sum = scratch.template take<std::size_t>(exec, 1);
      exec.reduce(middle - low, std::size_t{0},
                  kernel::CountEqual<T>{run.values.data(), run.among, bar, low}, kernel::Add{},
                  std::span<std::size_t, 1>(sum.data(), 1));
      std::size_t count = 0;
      exec.read(as_const_span(sum), std::span(&count, 1));
      if (count >= wanted) {
        high = middle;
      } else {
        wanted -= count;
        low = middle;
      }
    }
    below[i] = wanted > 0 ? high : 0;
    wanted = 0;
  }
}

}  // namespace pactrain

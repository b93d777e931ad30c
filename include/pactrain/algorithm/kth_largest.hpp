// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/magnitude.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace pactrain {

/// A run of values in an executor's memory that is ranked; entries outside `among` take no part.
template <GradientValue T>
struct Ranked {
  std::span<const T> values;
  kernel::Among among;
};

/// The k-th largest magnitude, as bits that order as magnitudes do, and how many lie above it.
template <GradientValue T>
struct Bar {
  bits_t<T> bar = 0;
  std::size_t above = 0;
};

namespace detail {

/// For every run, the sum of `load(run)` over its entries. Waits once.
template <Executor E, GradientValue T, class Load>
std::vector<std::size_t> count_each(E& exec, std::span<const Ranked<T>> runs, Scratch<E>& scratch,
                                    Load load) {
  auto sums = scratch.template take<std::size_t>(exec, runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    reduce_fast(exec, runs[i].values.size(), std::size_t{0}, load(runs[i]), kernel::Add{},
                std::span<std::size_t, 1>(sums.data() + i, 1));
  }
  std::vector<std::size_t> counts(runs.size());
  exec.read(as_const_span(sums), std::span(counts));
  return counts;
}

template <Executor E, GradientValue T, class Load>
std::size_t count_all(E& exec, std::span<const Ranked<T>> runs, Scratch<E>& scratch, Load load) {
  std::size_t total = 0;
  for (const std::size_t count : count_each(exec, runs, scratch, load)) total += count;
  return total;
}

/// May the fast path, which ranks whole runs, be taken? Only where whatever takes no part is zero:
/// it cannot then push anything that does take part below the bar.
template <Executor E, GradientValue T>
bool ranks_whole_runs(E& exec, std::span<const Ranked<T>> runs, Scratch<E>& scratch) {
  bool whole = true;
  for (const Ranked<T>& run : runs) whole = whole && run.among.words == nullptr;
  return whole || count_all(exec, runs, scratch, [](const Ranked<T>& run) {
                    return kernel::CountOutside<T>{run.values.data(), run.among};
                  }) == 0;
}

}  // namespace detail

/// The k-th largest magnitude of all runs together, exactly: by the executor's `kth_largest` where
/// it has one, else by bisection on the bit patterns, one counting pass per bit. NaNs rank above
/// infinity. Waits. Precondition: 1 <= k <= the number of entries that take part.
template <Executor E, GradientValue T>
[[nodiscard]] Bar<T> kth_largest(E& exec, std::span<const Ranked<T>> runs, std::size_t k,
                                 Scratch<E>& scratch) {
  using Spans = std::span<const std::span<const T>>;
  if constexpr (requires(Spans spans) { exec.kth_largest(spans, k); }) {
    if (detail::ranks_whole_runs(exec, runs, scratch)) {
      std::vector<std::span<const T>> spans;
      for (const Ranked<T>& run : runs) {
        if (!run.values.empty()) spans.push_back(run.values);
      }
      const auto found = exec.kth_largest(Spans(spans), k);
      return {found.bar, found.above};
    }
  }
  const auto at_least = [&](bits_t<T> bar) {
    return detail::count_all(exec, runs, scratch, [bar](const Ranked<T>& run) {
      return kernel::CountAtLeast<T>{run.values.data(), run.among, bar};
    });
  };
  bits_t<T> bar = 0;
  for (int bit = std::numeric_limits<bits_t<T>>::digits - 2; bit >= 0; --bit) {
    const auto higher = static_cast<bits_t<T>>(bar | static_cast<bits_t<T>>(bits_t<T>{1} << bit));
    if (at_least(higher) >= k) bar = higher;
  }
  return {bar, at_least(static_cast<bits_t<T>>(bar + 1))};
}

}  // namespace pactrain

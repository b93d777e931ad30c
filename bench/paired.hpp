// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <vector>

namespace pactrain::bench {

/// Seconds on the wall: for whatever waits, or runs on several threads.
struct WallTime {
  static double now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(time).count();
  }
};

/// Seconds of the processor: for one thread that never waits, on a machine that others use.
struct ProcessorTime {
  static double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
};

/// The seconds one call of `f` takes.
template <class Time, class F>
double seconds(F&& f) {
  const double start = Time::now();
  f();
  benchmark::ClobberMemory();
  return Time::now() - start;
}

/// The middle one of several times.
inline double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Runs `work` and `yardstick` by turns, so that a busy machine slows both; the benchmark's time is
/// that of `work`. Returns the ratio of their median times.
template <class Time, class Work, class Yardstick>
double run_paired(benchmark::State& state, Work work, Yardstick yardstick) {
  std::vector<double> times, yards;
  work();  // the first call pays for pages and caches
  yardstick();
  for (auto _ : state) {
    yards.push_back(seconds<Time>(yardstick));
    times.push_back(seconds<Time>(work));
    state.SetIterationTime(times.back());
  }
  return median(times) / median(yards);
}

}  // namespace pactrain::bench

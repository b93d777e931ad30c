// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it costs to ask: a reducer that declines, beside `DenseAllReduce`, in turn. Counters are
// microseconds: the middle of the differences between the calls of a round, and the interval in
// which it lies with 95 % (by the ranks of a binomial, whatever the distribution).
#include "on_ranks.hpp"
#include "paired.hpp"

#include <pactrain/pactrain.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pactrain::bench {
namespace {

constexpr int rounds = 400;

/// A link so fast that nothing is worth packing.
CostModel fast_link() {
  return {.rate = 1e12, .pack = 1e-6, .codecs = {{.encode = 1e-6, .bytes = 1}}};
}

template <class Policy, class Mask>
void decline(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> differences, times;
  on_threads(static_cast<int>(state.range(1)), [&](HostBackend& backend) {
    std::vector<float> gradient(n, 1.0f);
    Policy policy;
    if constexpr (requires { policy.sparsity; }) policy.sparsity = 0.5;
    SparseAllReduce<Policy, Mask, HostBackend, Adaptive<Ternary>> adaptive{
        backend, policy, {.model = fast_link(), .interval = 100}};
    DenseAllReduce<HostBackend> dense{backend};
    Report report;
    const auto ask = [&] { report = adaptive(gradient); };
    const auto do_not = [&] { dense(gradient); };
    for (int round = 0; round < rounds + 3; ++round) {  // the first build masks and memory
      const bool turned = round % 2 == 1;               // neither is always first
      const double first = turned ? call_seconds(backend, ask) : call_seconds(backend, do_not);
      const double second = turned ? call_seconds(backend, do_not) : call_seconds(backend, ask);
      if (backend.communicator().rank() != 0 || round < 3) continue;
      times.push_back(turned ? first : second);
      differences.push_back(turned ? first - second : second - first);
    }
    const Path declined = backend.communicator().size() == 1 ? Path::local : Path::dense;
    if (report.path != declined) throw Error("it did not decline");
  });
  std::size_t round = 0;
  for (auto _ : state) state.SetIterationTime(times[round++]);
  std::ranges::sort(differences);
  const auto half = static_cast<std::size_t>(0.98 * std::sqrt(double{rounds}));
  state.counters["more_us"] = 1e6 * differences[rounds / 2];
  state.counters["from_us"] = 1e6 * differences[rounds / 2 - half];
  state.counters["to_us"] = 1e6 * differences[rounds / 2 + half];
}

void axes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"entries", "ranks"})->UseManualTime()->Iterations(rounds);
  benchmark->Unit(benchmark::kMicrosecond);
  for (const std::int64_t entries : {1, 1 << 10, 1 << 14, 1 << 16, 1 << 18}) {
    for (const std::int64_t ranks : {1, 2, 4}) benchmark->Args({entries, ranks});
  }
}

BENCHMARK(decline<KeepAll, FullMask>)->Name("declines_unpruned")->Apply(axes);
BENCHMARK(decline<RandomPruning, BitMask>)->Name("declines_pruned")->Apply(axes);

}  // namespace
}  // namespace pactrain::bench

BENCHMARK_MAIN();

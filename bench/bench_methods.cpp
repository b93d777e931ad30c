// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "on_ranks.hpp"
#include "paired.hpp"

#include <pactrain/pactrain.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pactrain::bench {
namespace {

/// Rounds of a benchmark; each is one call of the reducer, and one of each yardstick.
constexpr int rounds = 10;
constexpr std::size_t side = 1024, entries = side * side;

using Gradient = std::vector<float>;
using Packed = SparseAllReduce<United<NonZero>, BitMask, HostBackend>;

/// A reducer beside the dense sum and the packed union, by turns, on ranks that are threads.
template <class Feedback, class Codec>
void reduce(benchmark::State& state, int ranks, Codec codec, std::uint64_t one_in) {
  std::vector<double> times, dense_times, packed_times;
  Report report, packed_report;
  on_threads(ranks, [&](HostBackend& backend) {
    const int rank = backend.communicator().rank();
    Gradient original(entries), gradient(entries);
    for (std::size_t i = 0; i < entries; ++i) {
      const std::uint64_t random = kernel::mix(i, static_cast<std::uint64_t>(rank));
      if (random % one_in == 0) original[i] = static_cast<float>(random >> 40) * 0x1p-24f - 0.5f;
    }
    std::vector<Slice<float>> slices{{"w", gradient, side}};
    DenseAllReduce<HostBackend, Codec, Feedback> reducer{backend, {}, codec};
    DenseAllReduce<HostBackend> dense{backend};
    Packed packed{backend};
    for (int round = 0; round < rounds + 2; ++round) {  // the first two take memory
      Report last, other;
      const auto time = [&](auto call) {
        gradient = original;
        return call_seconds(backend, call);
      };
      const double dense_time = time([&] { dense(slices); });
      const double packed_time = time([&] { other = packed(slices); });
      const double own_time = time([&] { last = reducer(slices); });
      if (rank != 0 || round < 2) continue;
      times.push_back(own_time);
      dense_times.push_back(dense_time);
      packed_times.push_back(packed_time);
      report = last;
      packed_report = other;
    }
  });
  std::size_t round = 0;
  for (auto _ : state) state.SetIterationTime(times[round++]);
  state.counters["dense_ratio"] = median(times) / median(dense_times);
  state.counters["packed_ratio"] = median(times) / median(packed_times);
  state.counters["bytes_sent"] = static_cast<double>(report.bytes_sent);
  state.counters["packed_bytes"] = static_cast<double>(packed_report.bytes_sent);
  state.counters["dense_bytes"] = static_cast<double>(report.dense_bytes);
}

void low_rank(benchmark::State& state) {
  reduce<ErrorFeedback>(state, static_cast<int>(state.range(1)),
                        LowRank{.rank = static_cast<std::size_t>(state.range(0))}, 1);
}
void sketch(benchmark::State& state, SketchCells cells, SketchIndexKind index) {
  reduce<NoFeedback>(state, static_cast<int>(state.range(1)),
                     Sketch{.index = index, .cells = cells},
                     static_cast<std::uint64_t>(state.range(0)));
}

BENCHMARK(low_rank)
    ->ArgNames({"rank", "ranks"})
    ->ArgsProduct({{1, 2, 4, 8}, {2, 4}})
    ->UseManualTime()
    ->Iterations(rounds);
void axes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"one_in", "ranks"})->ArgsProduct({{1000, 100, 20}, {2, 4}});
  benchmark->UseManualTime()->Iterations(rounds);
}
BENCHMARK_CAPTURE(sketch, fixed32, SketchCells::fixed32, SketchIndexKind::bitmap)->Apply(axes);
BENCHMARK_CAPTURE(sketch, fixed64, SketchCells::fixed64, SketchIndexKind::bitmap)->Apply(axes);
BENCHMARK_CAPTURE(sketch, bloom, SketchCells::fixed32, SketchIndexKind::bloom)->Apply(axes);

}  // namespace
}  // namespace pactrain::bench

BENCHMARK_MAIN();

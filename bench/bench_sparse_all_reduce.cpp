// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "axes.hpp"
#include "on_ranks.hpp"
#include "paired.hpp"

#include <pactrain/pactrain.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace pactrain::bench {
namespace {

/// Rounds of a benchmark between ranks; each is one call and one dense call.
constexpr int rounds = 20;
/// Entries of the gradient: the demo's perceptron has about as many.
constexpr std::size_t gradient_entries = std::size_t{1} << 21;

std::vector<float> gradient_of(int rank) {
  std::vector<float> gradient(gradient_entries);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = static_cast<float>(static_cast<double>((i * 7919 + 13) % 1000 + 1) * (rank + 1));
  }
  return gradient;
}

/// One policy, mask and codec beside the dense sum, in turn, on ranks that are threads.
template <class Mask, class Codec, class Feedback>
void reduce(benchmark::State& state) {
  const double sparsity = 1.0 - static_cast<double>(state.range(0)) / 100.0;
  std::vector<double> times, dense_times;
  Report report;
  on_threads(static_cast<int>(state.range(1)), [&](HostBackend& backend) {
    const std::vector<float> original = gradient_of(backend.communicator().rank());
    std::vector<float> gradient = original;
    SparseAllReduce<RandomPruning, Mask, HostBackend, Codec, Feedback> sparse{
        backend, {.sparsity = sparsity, .seed = 1}};
    DenseAllReduce<HostBackend> dense{backend};
    Report last;
    for (int round = 0; round < rounds + 2; ++round) {  // the first two build masks and memory
      const double dense_time = call_seconds(backend, [&] { dense(gradient); });
      gradient = original;
      const double time = call_seconds(backend, [&] { last = sparse(gradient); });
      gradient = original;
      if (backend.communicator().rank() != 0 || round < 2) continue;
      times.push_back(time);
      dense_times.push_back(dense_time);
      report = last;
    }
  });
  std::size_t round = 0;
  for (auto _ : state) state.SetIterationTime(times[round++]);
  state.counters["dense_ratio"] = median(times) / median(dense_times);
  state.counters["payload_bytes"] = static_cast<double>(report.payload_bytes);
  state.counters["bytes_sent"] = static_cast<double>(report.bytes_sent);
  state.counters["dense_bytes"] = static_cast<double>(report.dense_bytes);
}

/// One rank that keeps everything: the price of a call that cannot gain anything.
void nothing_to_gain(benchmark::State& state) {
  constexpr std::size_t n = std::size_t{1} << 20;
  std::vector<float> gradient(n, 1.0f), copy(n);
  HostBackend backend;
  SparseAllReduce<KeepAll, BitMask, HostBackend> reduce{backend};
  state.counters["memcpy_ratio"] = run_paired<ProcessorTime>(
      state, [&] { reduce(gradient); },
      [&] { std::memcpy(copy.data(), gradient.data(), n * sizeof(float)); });
}

/// What it costs that ranks compare their calls: one that does beside one that does not, in turn.
void checked(benchmark::State& state) {
  constexpr int calls = 200;
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> times, plain_times;
  on_threads(static_cast<int>(state.range(1)), [&](HostBackend& backend) {
    std::vector<float> gradient(n, 1.0f);
    DenseAllReduce<HostBackend> reduce{backend, {}, {}, {}, {.checked = true}}, plain{backend};
    for (int call = 0; call < calls + 2; ++call) {
      const double plain_time = call_seconds(backend, [&] { plain(gradient); });
      const double time = call_seconds(backend, [&] { reduce(gradient); });
      if (backend.communicator().rank() != 0 || call < 2) continue;
      times.push_back(time);
      plain_times.push_back(plain_time);
    }
  });
  std::size_t call = 0;
  for (auto _ : state) state.SetIterationTime(times[call++]);
  state.counters["unchecked_ratio"] = median(times) / median(plain_times);
  state.counters["more_us"] = 1e6 * (median(times) - median(plain_times));
}

void axes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"percent", "ranks"})->UseManualTime()->Iterations(rounds);
  for (const std::int64_t percent : percents) {
    for (const std::int64_t ranks : {2, 4}) benchmark->Args({percent, ranks});
  }
}

BENCHMARK(nothing_to_gain)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(checked)
    ->ArgNames({"entries", "ranks"})
    ->ArgsProduct({{1024, 1 << 21}, {2, 4}})
    ->UseManualTime()
    ->Iterations(200)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(reduce<BitMask, Identity, NoFeedback>)->Name("bit_mask")->Apply(axes);
BENCHMARK(reduce<IndexMask, Identity, NoFeedback>)->Name("index_mask")->Apply(axes);
BENCHMARK(reduce<BitMask, Cast<bfloat16>, NoFeedback>)->Name("bit_mask_bfloat16")->Apply(axes);
BENCHMARK(reduce<BitMask, Ternary, ErrorFeedback>)->Name("bit_mask_ternary")->Apply(axes);

}  // namespace
}  // namespace pactrain::bench

BENCHMARK_MAIN();

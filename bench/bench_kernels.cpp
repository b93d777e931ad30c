// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "axes.hpp"
#include "paired.hpp"

#include <pactrain/host/simd.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace pactrain::bench {
namespace {

using simd::Level;

/// A dense vector, room for its packed form, and a random mask; made once and kept.
struct Data {
  std::vector<float> dense, packed, copy;
  std::vector<std::uint64_t> words;
  std::int64_t percent = 0;

  explicit Data(std::size_t n) : dense(n), packed(n), copy(n), words((n + 63) / 64) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& x : dense) x = normal(random);
  }

  void keep(std::int64_t share) {
    if (share == percent) return;
    std::mt19937 random(2);
    for (std::uint64_t& word : words) {
      word = 0;
      for (int b = 0; b < 64; ++b) word |= std::uint64_t{std::int64_t(random() % 100) < share} << b;
    }
    percent = share;
  }

  void copy_dense() { std::memcpy(copy.data(), dense.data(), dense.size() * sizeof(float)); }
};

Data& data(const benchmark::State& state) {
  static Data kept(static_cast<std::size_t>(entries));
  kept.keep(state.range(0));
  return kept;
}

void against_memcpy(benchmark::State& state, Data& d, const std::function<void()>& kernel) {
  state.counters["memcpy_ratio"] =
      run_paired<ProcessorTime>(state, kernel, [&d] { d.copy_dense(); });
  state.SetBytesProcessed(state.iterations() * entries * std::int64_t{sizeof(float)});
}

void pack(benchmark::State& state, Level level) {
  Data& d = data(state);
  against_memcpy(state, d, [&] {
    simd::compress(level, d.words.data(), 0, d.dense.size(), d.dense.data(), d.packed.data());
  });
}

void pack_scanned(benchmark::State& state, Level level) {
  Data& d = data(state);
  bool non_finite = false;
  against_memcpy(state, d, [&] {
    simd::compress(level, d.words.data(), 0, d.dense.size(), d.dense.data(), d.packed.data(),
                   &non_finite);
  });
}

void unpack(benchmark::State& state, Level level) {
  Data& d = data(state);
  against_memcpy(state, d, [&] {
    simd::expand(level, d.words.data(), 0, d.dense.size(), d.packed.data(), d.copy.data());
  });
}

/// The counter is how many times as long it takes to copy the magnitudes and call
/// `std::nth_element`.
void kth_largest(benchmark::State& state, Level level) {
  Data& d = data(state);
  const std::vector<std::span<const float>> parts{std::span<const float>(d.dense)};
  const auto k = static_cast<std::size_t>(entries * state.range(0) / 100);
  simd::Workspace workspace;
  const double ratio = run_paired<ProcessorTime>(
      state,
      [&] { benchmark::DoNotOptimize(simd::kth_largest<float>(level, parts, k, workspace)); },
      [&] {
        std::transform(d.dense.begin(), d.dense.end(), d.copy.begin(),
                       [](float x) { return x < 0 ? -x : x; });
        const auto kth = d.copy.begin() + static_cast<std::ptrdiff_t>(k - 1);
        std::nth_element(d.copy.begin(), kth, d.copy.end(), std::greater<>());
      });
  state.counters["nth_element_speedup"] = 1 / ratio;
}

void add(const char* name, void (*run)(benchmark::State&, Level)) {
  for (const Level level : simd::all_levels) {
    if (level > simd::best_level() || level > Level::avx512) continue;  // floats
    const std::string full = std::string(name) + "/" + simd::name_of(level);
    auto* entry = benchmark::RegisterBenchmark(full.c_str(),
                                               [=](benchmark::State& state) { run(state, level); });
    entry->ArgName("percent")->UseManualTime()->Unit(benchmark::kMillisecond);
    for (const std::int64_t percent : percents) entry->Arg(percent);
  }
}

}  // namespace
}  // namespace pactrain::bench

int main(int argc, char** argv) {
  using namespace pactrain::bench;
  add("pack", pack);
  add("pack_scanned", pack_scanned);
  add("unpack", unpack);
  add("kth_largest", kth_largest);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

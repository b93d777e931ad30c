// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choosing a share of a gradient's entries, on one thread, against exact top-k by
// `std::nth_element` on a copy of the magnitudes.
#include "axes.hpp"
#include "paired.hpp"

#include <pactrain/host/executor.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/cyclic_top_k.hpp>
#include <pactrain/policy/sampled_top_k.hpp>
#include <pactrain/policy/sidco.hpp>
#include <pactrain/policy/top_k.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace pactrain::bench {
namespace {

constexpr std::int64_t per_mille[] = {1, 10, 100};

/// Values of a Laplace distribution, which gradients resemble.
const std::vector<float>& gradient() {
  static const std::vector<float> values = [] {
    std::vector<float> x(static_cast<std::size_t>(entries));
    std::mt19937 random(1);
    std::exponential_distribution<float> size;
    for (float& value : x) value = (random() % 2 == 0 ? 1.0f : -1.0f) * size(random);
    return x;
  }();
  return values;
}

/// The counters: how many times as long `std::nth_element` takes, and chosen over wanted entries.
template <class Policy, class Make>
void select(benchmark::State& state, Make make) {
  const std::vector<float>& x = gradient();
  std::vector<float> copy(x.size());
  const double fraction = static_cast<double>(state.range(0)) / 1000;
  const auto k = static_cast<std::size_t>(fraction * static_cast<double>(x.size()));
  HostExecutor exec;
  Model model;
  model.add("gradient", x.size());
  const Piece<const float> piece{0, 0, 0, x.size(), x.data()};
  typename Policy::template on<HostExecutor> policy(make(fraction));
  BitMask::on<HostExecutor> mask;
  Step step = 0;
  const double ratio = run_paired<ProcessorTime>(
      state,
      [&] {
        policy.prepare(exec, model, std::span<const Piece<const float>>(&piece, 1), step++);
        mask.begin(exec, model);
        mask.assign(exec, piece, policy.keep(piece));
        mask.end(exec);
      },
      [&] {
        std::transform(x.begin(), x.end(), copy.begin(), [](float v) { return std::abs(v); });
        std::nth_element(copy.begin(), copy.begin() + static_cast<std::ptrdiff_t>(k - 1),
                         copy.end(), std::greater<>());
      });
  state.counters["nth_element_speedup"] = 1 / ratio;
  state.counters["chosen"] = static_cast<double>(mask.count()) / static_cast<double>(k);
}

template <class Policy, class Make>
void add(const std::string& name, Make make) {
  auto* entry = benchmark::RegisterBenchmark(
      name.c_str(), [=](benchmark::State& state) { select<Policy>(state, make); });
  entry->ArgName("per_mille")->UseManualTime()->Unit(benchmark::kMillisecond);
  for (const std::int64_t share : per_mille) entry->Arg(share);
}

}  // namespace
}  // namespace pactrain::bench

int main(int argc, char** argv) {
  using namespace pactrain;
  using namespace pactrain::bench;
  const auto sidco = [](Fit fit) {
    return [=](double share) { return SIDCo{.fraction = share, .fit = fit}; };
  };
  add<TopK>("top_k", [](double share) { return TopK{.fraction = share}; });
  add<SIDCo>("sidco/exponential", sidco(Fit::exponential));
  add<SIDCo>("sidco/generalised_pareto", sidco(Fit::generalised_pareto));
  add<SIDCo>("sidco/gamma", sidco(Fit::gamma));
  add<SampledTopK>("sampled_top_k", [](double share) { return SampledTopK{.fraction = share}; });
  add<CyclicTopK>("cyclic_top_k/chunks", [](double share) {
    return CyclicTopK{.chunk = static_cast<std::size_t>(1 / share)};
  });
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

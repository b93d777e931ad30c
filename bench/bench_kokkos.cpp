// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels on one Kokkos execution space, beside Kokkos::deep_copy of the dense vector there.
#include "axes.hpp"
#include "paired.hpp"

#include <pactrain/kokkos/executor.hpp>
#include <pactrain/pactrain.hpp>

#include <Kokkos_Core.hpp>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

namespace pactrain::bench {
namespace {

using Space = PACTRAIN_BENCH_SPACE;
using Exec = KokkosExecutor<Space>;
using Vector = Kokkos::View<float*, Space>;

/// A dense vector, room for its packed form, and a random mask; made once and kept.
struct Data {
  static constexpr auto n = static_cast<std::size_t>(entries);

  Exec exec;
  Vector dense{"dense", n}, packed{"packed", n}, copy{"copy", n};
  Kokkos::View<std::uint32_t*, Space> flag{"flag", 1};
  Scratch<Exec> scratch;
  BitMask::on<Exec> mask;
  Model model;
  std::int64_t percent = 0;

  Data() {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& x : values) x = normal(random);
    exec.write(std::span<const float>(values), std::span<float>(dense.data(), n));
    model.add("all", n);
  }
  void keep(std::int64_t share) {
    if (share == percent) return;
    std::vector<float> weights(n);
    std::mt19937 random(2);
    for (float& x : weights) x = std::int64_t(random() % 100) < share ? 1.0f : 0.0f;
    const auto on_device = exec.make_buffer<float>(n);
    exec.write(std::span<const float>(weights), std::span<float>(on_device.data(), n));
    mask.begin(exec, model);
    const Piece<const float> piece{0, 0, 0, n, on_device.data()};
    mask.assign(exec, piece, NonZero::on<Exec>(NonZero{}).keep(piece));
    mask.end(exec);
    percent = share;
  }
  [[nodiscard]] Piece<const float> source() const { return {0, 0, 0, n, dense.data()}; }
  [[nodiscard]] Piece<float> target() const { return {0, 0, 0, n, copy.data()}; }
};

/// Until Kokkos ends.
std::unique_ptr<Data> kept;

/// The counter is the time of `kernel` as a ratio to that of a deep_copy of the same bytes.
void against_deep_copy(benchmark::State& state, const std::function<void(Data&)>& kernel) {
  if (!kept) kept = std::make_unique<Data>();
  Data& d = *kept;
  d.keep(state.range(0));
  const auto work = [&] {
    kernel(d);
    d.exec.fence();
  };
  const auto yardstick = [&] {
    Kokkos::deep_copy(d.exec.space(), d.copy, d.dense);
    d.exec.fence();
  };
  state.counters["deep_copy_ratio"] = run_paired<WallTime>(state, work, yardstick);
  state.SetBytesProcessed(state.iterations() * entries * std::int64_t{sizeof(float)});
}

void pack(benchmark::State& state) {
  against_deep_copy(state, [](Data& d) {
    pactrain::pack(d.exec, d.mask, d.source(), d.packed.data(), 0,
                   static_cast<std::uint32_t*>(nullptr), d.scratch);
  });
}

void pack_scanned(benchmark::State& state) {
  against_deep_copy(state, [](Data& d) {
    pactrain::pack(d.exec, d.mask, d.source(), d.packed.data(), 0, d.flag.data(), d.scratch);
  });
}

void unpack(benchmark::State& state) {
  against_deep_copy(state, [](Data& d) {
    pactrain::unpack(d.exec, d.mask, static_cast<const float*>(d.packed.data()), 0, d.target());
  });
}

void kth_largest(benchmark::State& state) {
  against_deep_copy(state, [&](Data& d) {
    const Ranked<float> run{{d.dense.data(), Data::n}, {}};
    const auto k = static_cast<std::size_t>(entries * state.range(0) / 100);
    benchmark::DoNotOptimize(
        pactrain::kth_largest(d.exec, std::span<const Ranked<float>>(&run, 1), k, d.scratch));
  });
}

void axes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("percent")->UseManualTime()->Unit(benchmark::kMillisecond);
  for (const std::int64_t percent : percents) benchmark->Arg(percent);
}

BENCHMARK(pack)->Apply(axes);
BENCHMARK(pack_scanned)->Apply(axes);
BENCHMARK(unpack)->Apply(axes);
BENCHMARK(kth_largest)->Apply(axes);

}  // namespace
}  // namespace pactrain::bench

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  pactrain::bench::kept.reset();
  benchmark::Shutdown();
}

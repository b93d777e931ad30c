// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels on one Kokkos execution space, beside Kokkos::deep_copy of the dense vector there and
// beside themselves on the first of Kokkos' spaces, Serial as a rule.
#include "axes.hpp"
#include "paired.hpp"

#include <pactrain/kokkos/executor.hpp>
#include <pactrain/pactrain.hpp>

#include <Kokkos_Core.hpp>
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace pactrain::bench {
namespace {

using Space = PACTRAIN_BENCH_SPACE;
using First = PACTRAIN_BENCH_FIRST_SPACE;

/// A dense vector, room for its packed form, and a random mask; made once and kept.
template <class S>
struct Data {
  using Exec = KokkosExecutor<S>;
  using Vector = Kokkos::View<float*, S>;
  static constexpr auto n = static_cast<std::size_t>(entries);

  Exec exec;
  Vector dense{"dense", n}, packed{"packed", n}, copy{"copy", n};
  Kokkos::View<std::uint32_t*, S> flag{"flag", 1};
  Scratch<Exec> scratch;
  typename BitMask::on<Exec> mask;
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
    const auto on_device = exec.template make_buffer<float>(n);
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
template <class S>
std::unique_ptr<Data<S>> kept;

/// The data of a space, with a mask that keeps what `state` says.
template <class S>
Data<S>& data(const benchmark::State& state) {
  if (!kept<S>) kept<S> = std::make_unique<Data<S>>();
  kept<S>->keep(state.range(0));
  return *kept<S>;
}

struct Pack {
  template <class D>
  void operator()(D& d, std::int64_t) const {
    pack(d.exec, d.mask, d.source(), d.packed.data(), 0, static_cast<std::uint32_t*>(nullptr),
         d.scratch);
  }
};
struct PackScanned {
  template <class D>
  void operator()(D& d, std::int64_t) const {
    pack(d.exec, d.mask, d.source(), d.packed.data(), 0, d.flag.data(), d.scratch);
  }
};
struct Unpack {
  template <class D>
  void operator()(D& d, std::int64_t) const {
    unpack(d.exec, d.mask, static_cast<const float*>(d.packed.data()), 0, d.target());
  }
};
struct KthLargest {
  template <class D>
  void operator()(D& d, std::int64_t percent) const {
    const Ranked<float> run{{d.dense.data(), D::n}, {}};
    const auto k = static_cast<std::size_t>(entries * percent / 100);
    benchmark::DoNotOptimize(
        kth_largest(d.exec, std::span<const Ranked<float>>(&run, 1), k, d.scratch));
  }
};

/// A call of `kernel` from the launch to the end.
template <class Kernel, class D>
auto complete(D& d, const benchmark::State& state) {
  return [&d, percent = state.range(0)] {
    Kernel{}(d, percent);
    d.exec.fence();
  };
}

/// The counter is the time of a kernel as a ratio to that of a deep_copy of the same bytes.
template <class Kernel>
void against_deep_copy(benchmark::State& state) {
  auto& d = data<Space>(state);
  const auto yardstick = [&] {
    Kokkos::deep_copy(d.exec.space(), d.copy, d.dense);
    d.exec.fence();
  };
  state.counters["deep_copy_ratio"] =
      run_paired<WallTime>(state, complete<Kernel>(d, state), yardstick);
  state.SetBytesProcessed(state.iterations() * entries * std::int64_t{sizeof(float)});
}

/// The counter is the time of a kernel as a ratio to its time on the first space.
template <class Kernel>
void against_first(benchmark::State& state) {
  state.counters["first_space_ratio"] =
      run_paired<WallTime>(state, complete<Kernel>(data<Space>(state), state),
                           complete<Kernel>(data<First>(state), state));
}

void add_axes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("percent")->UseManualTime()->Unit(benchmark::kMillisecond);
  for (const std::int64_t percent : percents) benchmark->Arg(percent);
}
template <class Kernel>
void add(const std::string& name) {
  add_axes(benchmark::RegisterBenchmark(name.c_str(), against_deep_copy<Kernel>));
  if constexpr (!std::is_same_v<Space, First>) {
    const std::string beside = name + "_beside_" + First::name();
    add_axes(benchmark::RegisterBenchmark(beside.c_str(), against_first<Kernel>));
  }
}

void run() {
  add<Pack>("pack");
  add<PackScanned>("pack_scanned");
  add<Unpack>("unpack");
  add<KthLargest>("kth_largest");
  benchmark::RunSpecifiedBenchmarks();
  kept<Space>.reset();
  kept<First>.reset();
}

}  // namespace
}  // namespace pactrain::bench

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  pactrain::bench::run();
  benchmark::Shutdown();
}

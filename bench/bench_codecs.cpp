// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "axes.hpp"
#include "paired.hpp"

#include <pactrain/compress/cast.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/int4.hpp>
#include <pactrain/compress/int8.hpp>
#include <pactrain/compress/min_max.hpp>
#include <pactrain/compress/natural.hpp>
#include <pactrain/compress/qsgd.hpp>
#include <pactrain/compress/sign.hpp>
#include <pactrain/compress/ternary.hpp>
#include <pactrain/host/executor.hpp>

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// What codecs cost on one thread: the counter is seconds as a ratio to `memcpy` of the values.
/// `PACTRAIN_SIMD` names the vector units that are used.
namespace pactrain::bench {
namespace {

/// Values, and room for a copy and for what a wire of them is decoded to; made once and kept.
struct Data {
  std::vector<float> values, copy, sum;
  std::vector<PackedPart> parts;

  Data() : values(std::size_t{entries}), copy(values.size()), sum(values.size()) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& x : values) x = normal(random);
    parts.push_back({0, 0, values.size()});
  }
  void copy_values() { std::memcpy(copy.data(), values.data(), values.size() * sizeof(float)); }
};
Data& data() {
  static Data kept;
  return kept;
}

template <class Z>
class Coder {
 public:
  explicit Coder(const Z& options) : codec_(options), call_{data().parts, 4, {1, 2}, {}} {
    if constexpr (Z::additive) {
      const ValueType type = codec_.template wire_type<float>(call_.ranks);
      wire_.resize(data().values.size() * (type == ValueType::int8 ? 1 : 2));
    } else {
      wire_.resize(codec_.template wire_bytes<float>(call_));
    }
    if constexpr (has_bounds<Z, HostExecutor>) bounds_.resize(codec_.bounds_count(call_));
  }
  void encode() {
    const std::span<const float> values(data().values);
    if constexpr (has_bounds<Z, HostExecutor>) {
      codec_.bounds(exec_, call_, values, std::span<float>(bounds_));
      call_.agreed = bounds_;
    }
    codec_.encode(exec_, call_, values, std::span<std::byte>(wire_));
  }
  void decode() {
    codec_.decode_add(exec_, call_, std::span<const std::byte>(wire_), std::span(data().sum));
  }

 private:
  HostExecutor exec_;
  typename Z::template on<HostExecutor> codec_;
  CodecCall call_;
  std::vector<float> bounds_;
  std::vector<std::byte> wire_;
};

template <class F>
void against_memcpy(benchmark::State& state, F work) {
  state.counters["memcpy_ratio"] =
      run_paired<ProcessorTime>(state, work, [] { data().copy_values(); });
  state.SetBytesProcessed(state.iterations() * entries * std::int64_t{sizeof(float)});
}

template <class Z>
void add(const std::string& name, const Z& options) {
  const auto encode = [options](benchmark::State& state) {
    Coder<Z> coder(options);
    against_memcpy(state, [&] { coder.encode(); });
  };
  const auto decode = [options](benchmark::State& state) {
    Coder<Z> coder(options);
    coder.encode();
    against_memcpy(state, [&] { coder.decode(); });
  };
  const auto place = [](benchmark::internal::Benchmark* entry) {
    entry->UseManualTime()->Unit(benchmark::kMillisecond);
  };
  place(benchmark::RegisterBenchmark((name + "/encode").c_str(), encode));
  place(benchmark::RegisterBenchmark((name + "/decode").c_str(), decode));
}

}  // namespace
}  // namespace pactrain::bench

int main(int argc, char** argv) {
  using namespace pactrain;
  using pactrain::bench::add;
  add("cast_float16", Cast<float16>{});
  add("cast_bfloat16", Cast<bfloat16>{});
  add("int8", Int8{});
  add("int4", Int4{});
  add("int4_fixed", Int4{.scale = 2});
  add("sign", Sign{});
  add("sign_two_means", Sign{.two_means = true});
  add("ternary", Ternary{});
  add("ternary_clipped", Ternary{.clip = 2.5});
  add("qsgd", QSGD{});
  add("min_max", MinMax{});
  add("natural", Natural{});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/cast.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pactrain {

namespace kernel {
/// Values around zero without ties, of both signs: what gradients look like to a codec.
struct LikeGradients {
  float* x;
  std::uint64_t seed;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const auto drawn = static_cast<std::int64_t>(mix(i, seed)) / 2;
    const auto unit = static_cast<float>(static_cast<double>(drawn) * 0x1p-62);
    x[i] = unit * unit * unit;
  }
};
}  // namespace kernel

/// Measures calls of reducers over a backend's ranks, on floats.
template <Backend B>
class Stopwatch {
  using E = typename B::executor_type;

 public:
  /// Seconds of a call, in all and by where `CostModel` counts them, and what it sent, in bytes.
  struct Sample {
    double wall = 0, before = 0, collective = 0, encode = 0, decode = 0, after = 0, sent = 0;
  };

  Stopwatch(B& backend, std::size_t most)
      : backend_(&backend), gradient_(backend.executor().template make_buffer<float>(most)) {}

  /// Of `repeats` calls with `n` values the quarter that is fastest, at its slow end: on a machine
  /// that others use, most of what is slower is theirs. Each counts as the longest that a rank
  /// took. Collective; waits.
  template <class R>
  Sample measure(R& reduce, std::size_t n, int repeats) {
    std::vector<std::array<double, fields>> all;
    for (int i = 0; i < repeats; ++i) all.push_back(once(reduce, n));
    std::array<double, fields> typical{};
    for (std::size_t field = 0; field < fields; ++field) {
      std::vector<double> times;
      for (const auto& one : all) times.push_back(one[field]);
      const auto at = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 4);
      std::ranges::nth_element(times, at);
      typical[field] = *at;
    }
    return {typical[0], typical[1], typical[2], typical[3], typical[4], typical[5], typical[6]};
  }
  /// Seconds a value that adding one vector to another takes.
  double add(std::size_t n) {
    E& exec = backend_->executor();
    auto sum = exec.template make_buffer<float>(n);
    exec.for_each(n, kernel::LikeGradients{sum.data(), 1});
    exec.for_each(n, kernel::LikeGradients{gradient_.data(), 2});
    std::array<double, 1> shortest{1e9};
    for (int i = 0; i < 3; ++i) {
      exec.fence();
      const auto start = Clock::now();
      exec.for_each(n, kernel::AddTo<float, float>{gradient_.data(), sum.data()});
      exec.fence();
      shortest[0] = std::min(shortest[0], since(start));
    }
    longest(shortest);
    return shortest[0] / static_cast<double>(n);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t fields = 7;

  static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }
  template <class R>
  std::array<double, fields> once(R& reduce, std::size_t n) {
    E& exec = backend_->executor();
    const std::span<float> gradient(gradient_.data(), n);
    const auto rank = static_cast<std::uint64_t>(backend_->communicator().rank());
    exec.for_each(n, kernel::LikeGradients{gradient.data(), ++calls_ * 1000 + rank});
    std::array<double, 1> together{0};
    longest(together);
    const auto start = Clock::now();
    const Report report = reduce(gradient);
    exec.fence();
    const Stages& s = report.seconds;
    std::array<double, fields> sample{since(start),
                                      s.keep + s.pack,
                                      s.collective,
                                      s.encode,
                                      s.decode,
                                      s.unpack + s.commit,
                                      static_cast<double>(report.bytes_sent)};
    longest(sample);
    return sample;
  }
  /// Every number becomes the largest that a rank has.
  template <std::size_t N>
  void longest(std::array<double, N>& numbers) {
    E& exec = backend_->executor();
    const auto shared = shared_.template take<double>(exec, N);
    exec.write(std::span<const double>(numbers), shared);
    all_reduce(exec, backend_->communicator(), shared, Max{});
    exec.read(as_const_span(shared), std::span<double>(numbers));
  }

  B* backend_;
  buffer_t<E, float> gradient_;
  Scratch<E> shared_;
  std::uint64_t calls_ = 0;
};

}  // namespace pactrain

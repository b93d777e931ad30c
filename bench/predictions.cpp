// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the cost model predicts beside what is measured, on the network at hand:
//
//     mpirun -n 4 predictions [--within SHARE] [ENTRIES...]
//
// calibrates, then makes calls of every candidate at each size and steps of several buckets, and
// prints the middle of their times beside the prediction. Fails where one is further off than the
// share, if one is given.
#include <pactrain/mpi/backend.hpp>
#include <pactrain/pactrain.hpp>

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace pactrain::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Largest = Gathered<TopK>;
constexpr double sparsity = 0.9;
const Largest largest{.policy = {.fraction = 0.01}};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Comparison {
 public:
  Comparison(MpiBackend& backend, double within) : backend_(backend), within_(within) {
    const auto start = Clock::now();
    model_ = calibrate(backend, Ternary{}, largest);
    model_.codecs[0].name = "ternary";
    model_.codecs[1].name = "top 1 %";
    if (!speaks()) return;
    std::printf(
        "calibrated in %.2f s: %.4g Mbit/s, %.3g us a phase, %.3g us a call, %.3g kB free\n",
        since(start), model_.rate * 8e-6, model_.latency * 1e6, model_.call * 1e6,
        model_.burst * 1e-3);
    std::printf("ns a value: copy %.2f write %.2f pack %.2f unpack %.2f add %.2f\n",
                model_.copy * 1e9, model_.write * 1e9, model_.pack * 1e9, model_.unpack * 1e9,
                model_.add * 1e9);
    std::printf("%10s  %-10s %12s %12s %7s\n", "entries", "way", "predicted ms", "measured ms",
                "off");
  }
  /// Calls of every candidate.
  void calls(std::size_t n) {
    std::vector<float> gradient(n);
    DenseAllReduce<MpiBackend> dense{backend_};
    call(dense, gradient, CostModel::dense);
    SparseAllReduce<RandomPruning, BitMask, MpiBackend> packed{backend_, {.sparsity = sparsity}};
    call(packed, gradient, CostModel::packed);
    SparseAllReduce<RandomPruning, BitMask, MpiBackend, Ternary> ternary{backend_,
                                                                         {.sparsity = sparsity}};
    call(ternary, gradient, 2);
    SparseAllReduce<RandomPruning, BitMask, MpiBackend, Largest> gathered{
        backend_, {.sparsity = sparsity}, largest};
    call(gathered, gradient, 3);
  }
  /// Steps of four buckets, whose gradients take as long to compute as one takes on the wire dense.
  void steps(std::size_t n) {
    const std::size_t part = n / 4;
    const double wait = model_.cost(CostModel::dense, {part, part, 4}, ranks()).flow;
    SparseAllReduce<RandomPruning, BitMask, MpiBackend, Adaptive<Ternary>> reduce{
        backend_, {.sparsity = sparsity}, {.model = only(1), .interval = 4}};
    std::vector<float> gradient(4 * part);
    std::vector<Slice<float>> slices;
    for (std::size_t i = 0; i < 4; ++i) {
      slices.push_back({std::to_string(i), std::span(gradient).subspan(i * part, part)});
    }
    GradientBuckets buckets{reduce, slices, {.bytes = 1}};
    const auto step = [&] {
      fill(gradient);
      together();
      const auto start = Clock::now();
      for (std::size_t i = 4; i-- > 0;) {
        for (const auto begun = Clock::now(); since(begun) < wait;) {  // a device computes
          std::this_thread::sleep_for(std::chrono::microseconds(100));
          buckets.advance();
        }
        buckets.ready(i);
      }
      buckets.finish();
      return since(start);
    };
    for (int i = 0; i < 3; ++i) step();
    const double measured = middle(step);
    std::vector<PlannedBucket> planned(4, {{part, kept(part), 4}, wait});
    std::vector<Cost> costs;
    const auto seen = reduce.codec_state().decisions().buckets();
    std::string ways;
    for (std::size_t i = 0; i < 4; ++i) {
      costs.push_back(model_.cost(seen[i].candidate, planned[i].size, ranks()));
      ways += only(1).name(seen[i].candidate).front();
    }
    print(4 * part, "4: " + ways, step_seconds(planned, costs, model_.burst / model_.rate),
          measured);
  }
  [[nodiscard]] bool all_within() const { return within_ <= 0 || worst_ <= within_; }
  [[nodiscard]] double worst() const { return worst_; }

 private:
  [[nodiscard]] int ranks() const { return backend_.communicator().size(); }
  [[nodiscard]] bool speaks() const { return backend_.communicator().rank() == 0; }
  static std::size_t kept(std::size_t n) { return n - fraction_of(n, sparsity); }
  /// The model with its first codecs only.
  [[nodiscard]] CostModel only(std::size_t codecs) const {
    CostModel model = model_;
    model.codecs.resize(codecs);
    return model;
  }
  void fill(std::vector<float>& gradient) {
    ++turn_;
    const auto seed = 100 * turn_ + static_cast<std::uint64_t>(backend_.communicator().rank());
    backend_.executor().for_each(gradient.size(), kernel::LikeGradients{gradient.data(), seed});
  }
  double longest(double mine) {
    all_reduce(backend_.executor(), backend_.communicator(), std::span<double>(&mine, 1), Max{});
    return mine;
  }
  void together() { longest(0); }
  /// The middle of seven times; each is the longest that a rank took.
  template <class F>
  double middle(F f) {
    std::vector<double> times;
    for (int i = 0; i < 7; ++i) times.push_back(longest(f()));
    std::ranges::sort(times);
    return times[times.size() / 2];
  }
  template <class R>
  void call(R& reduce, std::vector<float>& gradient, std::size_t candidate) {
    const auto once = [&] {
      fill(gradient);
      together();
      const auto start = Clock::now();
      reduce(gradient);
      return since(start);
    };
    once();
    once();
    const double measured = middle(once);
    const ReductionSize size{gradient.size(), kept(gradient.size()), 4};
    const std::array<PlannedBucket, 1> one{{{size, 0}}};
    print(gradient.size(), model_.name(candidate), step_seconds(model_, one, candidate, ranks()),
          measured);
  }
  void print(std::size_t n, const std::string& way, double predicted, double measured) {
    worst_ = std::max(worst_, std::abs(predicted / measured - 1));
    if (!speaks()) return;
    std::printf("%10zu  %-10s %12.3f %12.3f %+6.1f%%\n", n, way.c_str(), predicted * 1e3,
                measured * 1e3, 100 * (predicted / measured - 1));
    std::fflush(stdout);
  }

  MpiBackend& backend_;
  CostModel model_;
  double within_, worst_ = 0;
  std::uint64_t turn_ = 0;
};

bool compare(int argc, char** argv) {
  double within = 0;
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string("--within") && i + 1 < argc)
      within = std::strtod(argv[++i], nullptr);
    else sizes.push_back(std::strtoull(argv[i], nullptr, 10));
  }
  if (sizes.empty()) sizes = {46'500, 186'000, 1'860'000};
  MpiBackend backend{MPI_COMM_WORLD};
  Comparison comparison(backend, within);
  for (const std::size_t n : sizes) {
    comparison.calls(n);
    comparison.steps(n);
  }
  if (backend.communicator().rank() == 0) {
    std::printf("furthest off: %.1f%%\n", 100 * comparison.worst());
  }
  return comparison.all_within();
}

}  // namespace
}  // namespace pactrain::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = EXIT_FAILURE;
  try {
    code = pactrain::bench::compare(argc, argv) ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "predictions: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  MPI_Finalize();
  return code;
}

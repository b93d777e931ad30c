// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PowerSGD: worked examples, the law of its error, warm starts, and what becomes of columns that
// vanish.
#include <pipeline/support.hpp>
#include <suite/own_exchange.hpp>

#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/gradient_buckets.hpp>
#include <pactrain/kernel/low_rank.hpp>
#include <pactrain/low_rank_all_reduce.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/track_zeros.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::contains;
using reducer::refusal;
using reducer::residual_in;
using reducer::same_on_all;
using reducer::saved;

namespace {

using Vector = std::vector<float>;
using Reducer = LowRankAllReduce<HostBackend>;
using Forgets = LowRankAllReduce<HostBackend, NoFeedback>;

/// One matrix of two rows as a model.
std::vector<Slice<float>> matrix(Vector& values, std::size_t rows) { return {{"w", values, rows}}; }
void check_near(std::span<const float> x, const Vector& expected, double tolerance = 1e-6) {
  REQUIRE(x.size() == expected.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(double(x[i]) - double(expected[i])) <= tolerance);
  }
}
/// The squared distance to `x` relative to its squared length.
double distance(const Vector& y, const Vector& x) {
  double missed = 0, all = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    missed += (double(y[i]) - double(x[i])) * (double(y[i]) - double(x[i]));
    all += double(x[i]) * double(x[i]);
  }
  return missed / all;
}
/// An n x n matrix whose singular values are given: columns and rows of Hadamard's matrix, others
/// for `variant` 1.
Vector with_singular_values(std::size_t n, const std::vector<double>& sigma, std::size_t variant) {
  Vector x(n * n);
  const auto h = [&](std::size_t i, std::size_t j) {
    return kernel::popcount(i & j) % 2 == 0 ? 1.0 : -1.0;
  };
  for (std::size_t k = 0; k < sigma.size(); ++k) {
    for (std::size_t i = 0; i < n * n; ++i) {
      const double left = h(i / n, 3 * k + 1), right = h(i % n, 5 * k + 2 + variant);
      x[i] += static_cast<float>(sigma[k] / static_cast<double>(n) * left * right);
    }
  }
  return x;
}

/// An executor with a matrix product of its own.
struct Multiplies : HostExecutor {
  int products = 0;
  template <class A>
  void gemm(bool transposed, std::size_t rows, std::size_t cols, std::size_t rank, const A* matrix,
            const A* columns, A* out) {
    ++products;
    for (std::size_t k = 0; k < rank; ++k) {
      for (std::size_t i = 0; i < (transposed ? cols : rows); ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < (transposed ? rows : cols); ++j) {
          sum += double(transposed ? matrix[j * cols + i] : matrix[i * cols + j]) *
                 double(columns[k * (transposed ? rows : cols) + j]);
        }
        out[k * (transposed ? cols : rows) + i] = static_cast<A>(sum);
      }
    }
  }
};

}  // namespace

TEST_CASE("what is owed by a codec with a way of its own") { own::check<own::Factors, Threads>(); }

TEST_CASE("6.5: a mean of rank 1 is conveyed in one step, and errors cancel over ranks") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    Reducer reduce{backend, {.rank = 1, .min_rate = 0.4}};
    Vector gradient = rank == 0 ? Vector{1, 0, 0, 1} : Vector{3, 0, 0, -1};
    const Report report = reduce(matrix(gradient, 2));
    check_near(gradient, {2, 0, 0, 0});
    check_near(residual_in<float>(saved(reduce), 4),
               rank == 0 ? Vector{-1, 0, 0, 1} : Vector{1, 0, 0, -1});
    CHECK(report.payload_bytes == (2 + 1 + 2) * sizeof(float));
    CHECK(report.path == Path::packed);
    CHECK(report.kept == 4);
  });
}

TEST_CASE("6.5: the second example, with errors against what all convey and against one's own") {
  for (const LowRankError error : {LowRankError::aggregated, LowRankError::local}) {
    with_ranks(2, [&](HostBackend& backend, int rank) {
      Reducer reduce{backend, {.rank = 1, .min_rate = 0.4, .error = error}};
      Vector gradient(4);
      reduce(matrix(gradient, 2));  // nothing yet to remember
      const std::span<float> factor = reduce.codec_state().factor<float>(0);
      factor[0] = 1;
      factor[1] = 0;
      gradient = rank == 0 ? Vector{2, 1, 0, 1} : Vector{0, 1, 2, 3};
      reduce(matrix(gradient, 2));
      check_near(gradient, {1, 1.5, 1, 1.5});
      check_near(reduce.codec_state().factor<float>(0), {1.41421f, 2.12132f}, 1e-5);
      const auto residual = residual_in<float>(saved(reduce), 4);
      if (error == LowRankError::aggregated) {
        check_near(residual, rank == 0 ? Vector{1, -.5f, -1, -.5f} : Vector{-1, -.5f, 1, 1.5f});
      } else {
        check_near(residual, rank == 0 ? Vector{1, 0, -1, 0} : Vector{-1, -1, 1, 1});
      }
    });
  }
}

TEST_CASE("the errors of all ranks are what the sum did not convey, in every step") {
  for (const LowRankError error : {LowRankError::aggregated, LowRankError::local}) {
    for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
      on_each<Threads>([&](HostBackend& backend) {
        const int ranks = backend.communicator().size(), rank = backend.communicator().rank();
        constexpr std::size_t n = 23 * 70;
        Reducer reduce{
            backend, {.rank = 3, .min_rate = 1, .error = error}, {.reduction = reduction}};
        std::vector<double> owed(n);  // sum over ranks and steps of gradients less what came back
        for (Step step = 0; step < 4; ++step) {
          Vector gradient(n);
          for (int r = 0; r < ranks; ++r) {
            const Vector theirs = values_of<float>(r + 10 * static_cast<int>(step), n);
            for (std::size_t i = 0; i < n; ++i) owed[i] += double(theirs[i]);
            if (r == rank) gradient = theirs;
          }
          reduce(matrix(gradient, 23));
          const double times = reduction == Reduction::mean ? ranks : 1;
          for (std::size_t i = 0; i < n; ++i) owed[i] -= times * double(gradient[i]);
          const auto residual = residual_in<float>(saved(reduce), n);
          const auto all = gather_host_values(backend.executor(), backend.communicator(),
                                              std::span<const float>(residual));
          double worst = 0;
          for (std::size_t i = 0; i < n; ++i) {
            double sum = 0;
            for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
              sum += double(all[r * n + i]);
            }
            worst = std::max(worst, std::abs(sum - owed[i]));
          }
          CHECK(worst < 2e-4);  // of values up to 64
        }
      });
    }
  }
}

TEST_CASE("columns become orthonormal, whatever their lengths; rounding and zeros become zeros") {
  const auto check = [](auto type, double tolerance) {
    using C = decltype(type);
    constexpr std::size_t n = 1000, rank = 5;
    for (const float size : {1.0f, 1e-30f, 1e30f}) {
      Vector x(n * rank);
      for (std::size_t i = 0; i < n; ++i) {
        x[i] = size * value_of<float>(0, i);
        x[n + i] = x[i] + 1e-3f * size * value_of<float>(1, i);  // nearly parallel
        x[2 * n + i] = 2.0f * x[i];                              // parallel
        x[3 * n + i] = 0;
        x[4 * n + i] = size * value_of<float>(2, i);
      }
      const kernel::Columns factor{0, n, rank};
      kernel::Orthonormalise<C, float>{x.data(), &factor, 1e-6}(0);
      for (std::size_t a = 0; a < rank; ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
          CAPTURE(a);
          CAPTURE(b);
          const double expected = a == b && a != 2 && a != 3 ? 1 : 0;
          const double found = kernel::dot(x.data() + a * n, x.data() + b * n, n);
          CHECK(std::abs(found - expected) < tolerance);
        }
      }
    }
    Vector bad{1, 2, not_a_number, 3, infinity, 4};
    const kernel::Columns factor{0, 2, 3};
    kernel::Orthonormalise<C, float>{bad.data(), &factor, 1e-6}(0);
    check_near(std::span<const float>(bad).subspan(2), {0, 0, 0, 0});
  };
  check(double{}, 1e-6);
  check(float{}, 1e-5);
}

TEST_CASE(
    "a matrix of the factors' rank is conveyed at once; so are equal layers, each for itself") {
  on_each<Threads>([](HostBackend& backend) {
    const Vector x = with_singular_values(32, {8, 3}, 0);
    Vector first = x, second = x, tiny = x;
    for (float& value : tiny) value *= 1e-30f;
    const std::vector<Slice<float>> slices{{"a", first, 32}, {"b", second, 32}, {"c", tiny, 32}};
    Reducer reduce{backend, {.rank = 2}};
    reduce(slices);
    CHECK(distance(first, x) < 1e-10);
    CHECK(distance(second, x) < 1e-10);
    for (float& value : tiny) value *= 1e30f;
    CHECK(distance(tiny, x) < 1e-10);
  });
}

TEST_CASE("with a warm start the factors turn to the largest singular vectors; drawn anew, never") {
  on_each<Threads>([](HostBackend& backend) {
    const std::vector<double> sigma{8, 7, 5, 4.5, 4};
    const Vector mean = with_singular_values(32, sigma, 0);
    const double best = (5 * 5 + 4.5 * 4.5 + 4 * 4) / (8 * 8 + 7 * 7 + 5 * 5 + 4.5 * 4.5 + 4 * 4);
    const Vector noise = with_singular_values(32, {30, 20}, 9);  // cancels over ranks
    const int rank = backend.communicator().rank(), ranks = backend.communicator().size();
    const double sign = ranks % 2 == 1 && rank == ranks - 1 ? 0 : rank % 2 == 0 ? 1 : -1;
    for (const bool warm : {true, false}) {
      Forgets reduce{backend, {.rank = 2, .warm_start = warm}};
      Vector gradient;
      double least = 1;
      for (int step = 0; step < 25; ++step) {
        gradient = mean;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          gradient[i] += static_cast<float>(sign * double(noise[i]));
        }
        reduce(matrix(gradient, 32));
        least = std::min(least, distance(gradient, mean));
      }
      if (warm) CHECK(distance(gradient, mean) < best * 1.001);
      else CHECK(least > best * 1.01);
    }
  });
}

TEST_CASE("what is remembered brings the sum of steps to the sum of gradients") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    const Vector x = with_singular_values(32, {8, 7, 5, 4.5, 4}, 0);
    const Vector y = with_singular_values(32, {6, 5, 3}, 9);
    Reducer remembers{backend, {.rank = 1}};
    Forgets forgets{backend, {.rank = 1}};
    const auto missed = [&](auto& reduce) {
      constexpr int steps = 200;
      Vector sum(x.size());
      for (int step = 0; step < steps; ++step) {
        Vector gradient = x;
        for (std::size_t i = 0; i < y.size(); ++i) gradient[i] += rank == 0 ? y[i] : -y[i];
        reduce(matrix(gradient, 32));
        for (std::size_t i = 0; i < x.size(); ++i) sum[i] += gradient[i] / float(steps);
      }
      return distance(sum, x);
    };
    CHECK(missed(remembers) < 1e-2);
    CHECK(missed(forgets) > 0.3);
  });
}

TEST_CASE("a step of zeros does not stop what is learnt afterwards") {
  on_each<Threads>([](HostBackend& backend) {
    const Vector x = with_singular_values(32, {8, 3}, 0);
    Reducer reduce{backend};
    for (int step = 0; step < 3; ++step) {
      Vector zeros(x.size());
      reduce(matrix(zeros, 32));
      CHECK(zeros == Vector(x.size()));
    }
    Vector gradient = with_singular_values(32, {5}, 0);  // one column of two vanishes
    reduce(matrix(gradient, 32));
    gradient = x;
    reduce(matrix(gradient, 32));
    CHECK(distance(gradient, x) < 1e-10);
  });
}

TEST_CASE("only matrices that shrink enough are approximated; the others are summed to the bit") {
  on_each<Threads>([](HostBackend& backend) {
    const int ranks = backend.communicator().size(), rank = backend.communicator().rank();
    // (20 + 40) * 4 * 2 < 800, but (10 + 16) * 4 * 2 > 160; the rank of a 2 x 900 matrix is 2.
    const auto sizes = std::vector<std::size_t>{800, 160, 33, 1800, 0};
    const auto rows = std::vector<std::size_t>{20, 10, 0, 2, 0};
    Vector all = values_of<float>(rank, 2793), dense = all;
    std::vector<Slice<float>> slices;
    std::size_t first = 0;
    for (std::size_t i = 0; i < sizes.size(); first += sizes[i++]) {
      slices.push_back({{}, std::span(all).subspan(first, sizes[i]), rows[i]});
    }
    Reducer reduce{backend, {.rank = 4}};
    DenseAllReduce<HostBackend> sum{backend};
    const Report report = reduce(slices);
    sum(dense);
    CHECK(reduce.codec_state().matrices() == 1);
    CHECK(
        same_bits(Vector(all.begin() + 800, all.end()), Vector(dense.begin() + 800, dense.end())));
    CHECK(report.payload_bytes == sizeof(float) * (160 + 33 + 1800 + 4 * (20 + 40) + 1));
    CHECK(report.entries == 2793);
    if (ranks == 1) CHECK(report.dense_bytes == 0);
    const auto two = all_reduce_bytes<float>(160 + 33 + 1800 + 4 * 20 + 1, rank, ranks) +
                     all_reduce_bytes<float>(4 * 40, rank, ranks);
    CHECK(reduce(slices).bytes_sent == two);
  });
}

TEST_CASE("before the step at which it starts, the sum is the dense one, bit for bit") {
  on_each<Threads>([](HostBackend& backend) {
    const int rank = backend.communicator().rank();
    Reducer reduce{backend, {.start = 2}};
    DenseAllReduce<HostBackend> sum{backend};
    for (int step = 0; step < 4; ++step) {
      Vector gradient = values_of<float>(rank + step, 900), dense = gradient;
      const Report report = reduce(matrix(gradient, 30));
      sum(dense);
      CHECK(report.path == Path::packed);
      CHECK(same_bits(gradient, dense) == (step < 2));
      if (step < 2) CHECK(report.payload_bytes == (900 + 1) * sizeof(float));
    }
  });
}

TEST_CASE("halves and doubles; a rank without data adds what it remembers") {
  const auto check = []<GradientValue T>(T, double tolerance) {
    with_ranks(3, [&](HostBackend& backend, int rank) {
      const Vector x = with_singular_values(32, {8, 3}, 0);
      std::vector<T> gradient(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = static_cast<T>(x[i]);
      LowRankAllReduce<HostBackend> reduce{backend};
      const std::vector<Slice<T>> slices{{"w", gradient, 32}};
      reduce(slices, rank == 1 ? Contribution::nothing : Contribution::gradient);
      Vector result;
      for (const T value : gradient) result.push_back(1.5f * static_cast<float>(value));
      CHECK(distance(result, x) < tolerance);
      for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = T{};
      reduce(slices, Contribution::nothing);  // rounding of halves apart, nothing is owed
      Vector rest;
      for (const T value : gradient) rest.push_back(static_cast<float>(value) + x[rest.size()]);
      CHECK(distance(rest, x) < tolerance);
    });
  };
  check(double{}, 1e-12);
  check(float16{}, 1e-6);
  check(bfloat16{}, 1e-4);
}

TEST_CASE("sums beyond the range of the type are refused, with all as it was") {
  with_ranks(3, [](HostBackend& backend, int) {
    Vector gradient(900, 3e38f);
    Reducer reduce{backend};
    const std::string text = refusal<StepRejected>(backend, [&] { reduce(matrix(gradient, 30)); });
    CHECK_MESSAGE(contains(text, "their sum are beyond the range"), text);
    CHECK(gradient == Vector(900, 3e38f));
    CHECK(reduce.step() == 0);
  });
}

TEST_CASE("options that cannot work are refused, and differences by their name") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    CHECK_THROWS_AS(Reducer(backend, {.rank = 0}), PreconditionError);
    CHECK_THROWS_AS(Reducer(backend, {.min_rate = 0}), PreconditionError);
    CHECK_THROWS_AS(Reducer(backend, {.orthonormalise_in = ValueType::float16}), PreconditionError);
    CHECK_THROWS_AS(Reducer(backend, {.floor = 1}), PreconditionError);
    Vector gradient(900, 1.0f);
    Reducer seeds{backend, {.seed = rank == 0 ? 1u : 2u}};
    reducer::check_mismatch(backend, 1, "codec", [&] { seeds(matrix(gradient, 30)); });
    Reducer reduce{backend};
    const std::string text =
        refusal<PreconditionError>(backend, [&] { reduce(matrix(gradient, 7)); });
    CHECK_MESSAGE(contains(text, "'w' has 900 entries and 7 rows"), text);
    CHECK(reduce(matrix(gradient, 30)).step == 0);
  });
}

TEST_CASE("parts that are started one by one give the bits of the whole model in one call") {
  on_each<Threads>([](HostBackend& backend) {
    Reducer whole{backend, {.rank = 3}}, apart{backend, {.rank = 3}},
        bucketed{backend, {.rank = 3}};
    Vector x(700 + 33 + 640), y = x, z = x;
    const auto parts = [](Vector& values) {
      const std::span<float> all(values);
      return std::vector<Slice<float>>{
          {"a", all.first(700), 20}, {"b", all.subspan(700, 33)}, {"c", all.subspan(733), 32}};
    };
    apart.introduce(parts(y));
    GradientBuckets buckets{bucketed, parts(z), {.bytes = 100}};
    CHECK(buckets.bucket_count() == 3);
    for (int step = 0; step < 4; ++step) {
      x = y = values_of<float>(backend.communicator().rank() + 10 * step, x.size());
      std::ranges::copy(x, z.begin());
      whole(parts(x));
      const auto slices = parts(y);
      Pending last = apart.start(std::vector{slices[2], slices[1]});
      Pending first = apart.start(std::vector{slices[0]});
      while (!last.advance()) continue;
      first.wait();
      last.wait();
      CHECK(same_bits(x, y));
      for (const std::size_t i : {1u, 2u, 0u}) buckets.ready(i);
      buckets.finish();
      CHECK(same_bits(x, z));
    }
    CHECK(saved(whole) == saved(apart));
    CHECK(saved(whole) == saved(bucketed));
  });
}

TEST_CASE("vectors owe nothing: they are conveyed exactly") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    Reducer reduce{backend, {}, {.reduction = Reduction::sum}};
    Vector x(900 + 50);
    for (int step = 0; step < 2; ++step) {
      x = values_of<float>(rank + 10 * step, x.size());
      reduce(std::vector<Slice<float>>{{"w", std::span(x).first(900), 30},
                                       {"v", std::span(x).subspan(900)}});
    }
    const Vector residual = residual_in<float>(saved(reduce), x.size());
    CHECK(std::ranges::any_of(residual, [](float r) { return r != 0; }));
    CHECK(Vector(residual.begin() + 900, residual.end()) == Vector(50));
  });
}

TEST_CASE("behind a mask: matrices that are kept whole as factors, the others packed as they are") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    std::vector<bool> flags(1800, true);
    for (std::size_t i = 900; i < 1800; ++i) flags[i] = i % 2 == 0;
    const Pruned policy = Pruned::from_flags(flags);
    OnThreads<Pruned, BitMask, LowRank, ErrorFeedback> reduce{backend, policy};
    OnThreads<Pruned, BitMask> packed{backend, policy};
    Vector x = values_of<float>(rank, 1800), y = x;
    const auto slices = [](Vector& values) {
      return std::vector<Slice<float>>{{"a", std::span(values).first(900), 30},
                                       {"b", std::span(values).subspan(900), 30}};
    };
    const Report report = reduce(slices(x));
    packed(slices(y));
    CHECK(report.kept == 1350);
    CHECK(report.payload_bytes == sizeof(float) * (450 + 2 * 60 + 1));
    CHECK(!same_bits(Vector(x.begin(), x.begin() + 900), Vector(y.begin(), y.begin() + 900)));
    CHECK(same_bits(Vector(x.begin() + 900, x.end()), Vector(y.begin() + 900, y.end())));
  });
}

TEST_CASE("a stray of one rank is not lost behind the infinity of another") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    OnThreads<TrackZeros, BitMask, LowRank> reduce{
        backend, {.patience = 1}, {}, {}, {.non_finite = NonFinite::propagate}};
    Vector x(8);
    Report report;
    for (int step = 0; step < 6; ++step) {
      x = {1, 0, 1, 0, 1, 0, 1, 0};
      report = reduce(x);
    }
    REQUIRE(report.kept == 4);
    x = {1, 0, 1, 0, 1, 0, 1, 0};
    if (rank == 0) x[0] = infinity;
    if (rank == 1) x[1] = 6;
    report = reduce(x);
    CHECK(report.path == Path::dense);
    CHECK(x[0] == infinity);
    CHECK(x[1] == 3);
  });
}

TEST_CASE("an executor's own matrix product is used where there is one") {
  BackendPair<Multiplies, ThreadCommunicator> own;
  HostBackend plain;
  Vector x = values_of<float>(0, 900), y = x;
  LowRankAllReduce<BackendPair<Multiplies, ThreadCommunicator>> with_own{own};
  Reducer without{plain};
  with_own(matrix(x, 30));
  without(matrix(y, 30));
  CHECK(own.executor().products == 2);
  CHECK(distance(x, y) < 1e-10);
}

TEST_CASE("a layer as the documentation spells it") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    Vector weight_gradient(64 * 48, rank == 0 ? 1.0f : 3.0f), bias_gradient(64, 1.0f);

    std::vector<Slice<float>> gradient{{"fc.weight", weight_gradient, 64},  // 64 rows
                                       {"fc.bias", bias_gradient}};
    LowRankAllReduce<HostBackend> reduce{backend, {.rank = 4, .start = 0}};
    Report report = reduce(gradient);  // P and the bias, then Q: two all-reduces

    CHECK(report.payload_bytes == sizeof(float) * (64 + 4 * (64 + 48) + 1));
    CHECK(bias_gradient == Vector(64, 1.0f));
    check_near(weight_gradient, Vector(64 * 48, 2.0f), 1e-5);
  });
}

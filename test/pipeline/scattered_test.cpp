// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wires that owners of shares sum: in one hop and in two, for all ranks and for the owner alone.
#include <pipeline/support.hpp>

#include <pactrain/compress/int8.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/random_k.hpp>
#include <pactrain/scattered.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::refusal;
using reducer::residual_in;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;
template <class Z, class F = NoFeedback>
using Dense = DenseAllReduce<HostBackend, Z, F>;

/// Three parameters, one of them smaller than the number of ranks.
template <class T>
std::vector<Slice<T>> layers(std::vector<T>& x) {
  const auto all = std::span(x);
  return {{"a", all.first(x.size() / 3)},
          {"b", all.subspan(x.size() / 3, 2)},
          {"c", all.subspan(x.size() / 3 + 2)}};
}
/// Values that Int8 conveys exactly in blocks of 8: whole numbers, with 127 among them.
Vector exact_values(int seed, std::size_t n) {
  Vector x(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = i % 4 == 0
               ? 127.0f
               : static_cast<float>((i * 31 + 7 * static_cast<std::size_t>(seed)) % 200) - 100;
  }
  return x;
}
/// Does `rank` own entry `i` of a vector of these parts?
bool owns(int rank, int ranks, const std::vector<Slice<float>>& parts, std::size_t i) {
  for (const auto& part : parts) {
    if (i < part.values.size()) {
      const Share share = share_of(part.values.size(), rank, ranks);
      return i >= share.begin && i < share.end;
    }
    i -= part.values.size();
  }
  return false;
}

}  // namespace

TEST_CASE("Sharded: a rank gets its shares of the mean, in full precision, and zeros elsewhere") {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const std::size_t n : {6u, 64u, 301u}) {
      with_ranks(ranks, [&](HostBackend& backend, int rank) {
        Dense<Sharded<Int8>> reduce{backend, {}, {.codec = {.block = 4}}};
        for (int step = 0; step < 3; ++step) {
          Vector x = exact_values(rank + 5 * step, n), sum(n);
          for (int other = 0; other < ranks; ++other) {
            const Vector theirs = exact_values(other + 5 * step, n);
            for (std::size_t i = 0; i < n; ++i) sum[i] += theirs[i];
          }
          const auto parts = layers(x);
          reduce(parts);
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < n; ++i) {
            const bool own = owns(rank, ranks, parts, i);
            const float mean = sum[i] / static_cast<float>(ranks);
            // Blocks begin with a share, so not all of them have a 127 to be exact by.
            wrong += own ? std::abs(x[i] - mean) > 0.5 : x[i] != 0;
          }
          CHECK(wrong == 0);
        }
      });
    }
  }
}

TEST_CASE("Sharded: one nameless slice is cut as sharded optimisers cut it") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    Dense<Sharded<Int8>> reduce{backend, {}, {.codec = {.block = 1}}};  // exact: one value a scale
    Vector x = values_of<float>(rank, 100), mean(100);
    for (int other = 0; other < 3; ++other) {
      const Vector theirs = values_of<float>(other, 100);
      for (std::size_t i = 0; i < 100; ++i) mean[i] += theirs[i];
    }
    reduce(x);
    const Share share = share_of(100, rank, 3);
    for (std::size_t i = 0; i < 100; ++i) {
      CHECK(x[i] == (i >= share.begin && i < share.end ? mean[i] / 3 : 0.0f));
    }
  });
}

TEST_CASE("Scattered: all ranks get the same mean, coded twice, whatever the bucketing") {
  for (const int ranks : {1, 2, 3, 4}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      constexpr std::size_t n = 500;
      Dense<Scattered<Int8>> whole{backend}, apart{backend};
      apart.introduce([] {
        static thread_local Vector model(n);
        return layers(model);
      }());
      for (int step = 0; step < 3; ++step) {
        Vector x = values_of<float>(rank + 10 * step, n), y = x;
        std::vector<double> mean(n);
        for (int other = 0; other < ranks; ++other) {
          const Vector theirs = values_of<float>(other + 10 * step, n);
          for (std::size_t i = 0; i < n; ++i) mean[i] += double(theirs[i]) / ranks;
        }
        const auto parts = layers(x), others = layers(y);
        const Report report = whole(parts);
        if (ranks > 1) CHECK(report.bytes_sent > 0);
        double off = 0;
        for (std::size_t i = 0; i < n; ++i) off = std::max(off, std::abs(x[i] - mean[i]));
        CHECK(off <= (128.0 + 128.0) / 254 + 1e-3);
        CHECK(reducer::same_on_all(backend, reducer::hash(x)));

        Pending last = apart.start(std::vector{others[2], others[0]});
        Pending first = apart.start(std::vector{others[1]});
        first.wait();
        last.wait();
        CHECK(same_bits(x, y));
      }
    });
  }
}

TEST_CASE("bytes: (P - 1)/P of a wire to the owners, and the own share to the others") {
  with_ranks(4, [](HostBackend& backend, int) {
    Dense<Scattered<Int8>> reduce{backend};
    Vector x(4096, 1.0f);
    reduce(x);
    const Report report = reduce(x);
    const std::uint64_t share = 1024 + 4 * 4 + 8;  // codes, scales, flags
    CHECK(report.bytes_sent == 3 * share + 3 * share);
    CHECK(report.payload_bytes == 5 * share);
    CHECK(report.dense_bytes == 2 * 3 * 1024 * sizeof(float));
  });
}

TEST_CASE("two hops: sums within nodes, then over nodes, and fewer bytes leave a node") {
  with_ranks(4, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 400;
    Dense<Sharded<Int8>> one{backend}, two{backend, {}, {.node = 2}};
    Dense<Scattered<Int8>> all{backend, {}, {.node = 2}};
    for (int step = 0; step < 2; ++step) {
      Vector x = values_of<float>(rank + 10 * step, n), y = x, z = x;
      std::vector<double> mean(n);
      for (int other = 0; other < 4; ++other) {
        const Vector theirs = values_of<float>(other + 10 * step, n);
        for (std::size_t i = 0; i < n; ++i) mean[i] += double(theirs[i]) / 4;
      }
      one(layers(x));
      const Report report = two(layers(y));
      const auto parts = layers(z);
      all(parts);
      CHECK(reducer::same_on_all(backend, reducer::hash(z)));
      for (std::size_t i = 0; i < n; ++i) {
        const bool own = owns(rank, 4, parts, i);
        CHECK((own || (x[i] == 0 && y[i] == 0)));
        if (own) CHECK(std::abs(x[i] - mean[i]) <= 128.0 / 254 + 1e-3);
        if (own) CHECK(std::abs(y[i] - mean[i]) <= 2 * 128.0 / 254 + 1e-3);
        CHECK(std::abs(z[i] - mean[i]) <= 3 * 128.0 / 254 + 1e-3);
      }
      if (step == 1) CHECK(report.bytes_sent < 400);  // half to the mate, a quarter over nodes
    }
  });
}

TEST_CASE("a memory of sums makes good what their codes lose; without one the loss stays") {
  for (const int node : {0, 2}) {
    with_ranks(4, [&](HostBackend& backend, int rank) {
      constexpr std::size_t n = 97;
      constexpr int steps = 200;
      using Remembers = Scattered<Int8, ErrorFeedback>;
      Dense<Scattered<Int8>, ErrorFeedback> forgets{backend, {}, {.node = node}};
      Dense<Remembers, ErrorFeedback> remembers{backend, {}, {.node = node}};
      const Vector gradient = values_of<float>(rank, n);
      std::vector<double> mean(n), a(n), b(n);
      for (int other = 0; other < 4; ++other) {
        const Vector theirs = values_of<float>(other, n);
        for (std::size_t i = 0; i < n; ++i) mean[i] += double(theirs[i]) / 4;
      }
      for (int step = 0; step < steps; ++step) {
        Vector x = gradient, y = gradient;
        forgets(x);
        remembers(y);
        for (std::size_t i = 0; i < n; ++i) a[i] += x[i], b[i] += y[i];
      }
      double lost = 0, kept = 0;
      for (std::size_t i = 0; i < n; ++i) {
        lost = std::max(lost, std::abs(a[i] / steps - mean[i]));
        kept = std::max(kept, std::abs(b[i] / steps - mean[i]));
      }
      CHECK(kept <= 4 * 128.0 / 254 / steps + 1e-3);
      CHECK(lost > 5 * kept);
    });
  }
}

TEST_CASE("states go on, refused steps leave no trace, wrong nodes are refused") {
  with_ranks(4, [](HostBackend& backend, int rank) {
    using R = Dense<Scattered<Int8, ErrorFeedback>, ErrorFeedback>;
    R reduce{backend, {}, {.node = 2}}, again{backend, {}, {.node = 2}};
    for (int step = 0; step < 3; ++step) {
      Vector x = values_of<float>(rank + 10 * step, 60);
      reduce(layers(x));
    }
    const std::string before = saved(reduce);
    Vector bad = values_of<float>(rank, 60);
    if (rank == 2) bad[59] = infinity;
    const Vector untouched = bad;
    CHECK_THROWS_AS(reduce(layers(bad)), StepRejected);
    CHECK(same_bits(bad, untouched));
    CHECK(saved(reduce) == before);
    restore(again, before);
    CHECK(saved(again) == before);
    for (int step = 3; step < 6; ++step) {
      Vector x = values_of<float>(rank + 10 * step, 60), y = x;
      reduce(layers(x));
      again(layers(y));
      CHECK(same_bits(x, y));
    }
    CHECK(saved(again) == saved(reduce));

    Dense<Scattered<Int8>> odd{backend, {}, {.node = 3}};
    Vector x(60);
    CHECK_THROWS_WITH_AS(odd(x), doctest::Contains("a node has 3 ranks"), PreconditionError);
    CHECK_THROWS_AS((Dense<Scattered<Int8>>{backend, {}, {.node = -1}}), PreconditionError);
  });
}

TEST_CASE(
    "Sharded: a sum beyond the type is refused on all ranks, though its owner alone sees it") {
  for (const int node : {0, 2}) {
    with_ranks(4, [&](HostBackend& backend, int) {
      for (const std::size_t place : {0u, 30u, 39u}) {
        Dense<Sharded<Int8>, ErrorFeedback> reduce{
            backend, {}, {.node = node}, {}, {.reduction = Reduction::sum}};
        Vector x(40, 1.0f);
        x[place] = 3e38f;
        const Vector untouched = x;
        const std::string before = saved(reduce);
        const std::string text = refusal<StepRejected>(backend, [&] { reduce(x); });
        CHECK_MESSAGE(reducer::contains(text, "beyond the range"), text);
        CHECK(same_bits(x, untouched));
        CHECK(saved(reduce) == before);
      }
    });
  }
}

TEST_CASE("a memory of sums begins anew where the mask moves, in accepted steps only") {
  using Z = Scattered<Int8, ErrorFeedback>;
  with_ranks(2, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 64;
    // Sums of large entries lose more than small entries are worth.
    OnThreads<RandomK, BitMask, Z> moves{backend, {.fraction = 0.25}};
    OnThreads<RandomK, BitMask, Scattered<Int8>> forgets{backend, {.fraction = 0.25}};
    for (int step = 0; step < 6; ++step) {
      Vector x = values_of<float>(rank + 10 * step, n), y = x;
      moves(x);
      forgets(y);
      CHECK(same_bits(x, y));
    }
    const Vector weights = values_of<float>(7, n);
    const GradualMagnitude policy{
        .weights = weights, .final_sparsity = 0.5, .begin = 3, .end = 9, .every = 3};
    OnThreads<GradualMagnitude, BitMask, Z, ErrorFeedback> disturbed{backend, policy},
        fresh{backend, policy};
    for (int step = 0; step < 10; ++step) {
      const std::string before = saved(disturbed);
      Vector bad(n, rank == 1 ? infinity : 1.0f), x = values_of<float>(rank + 10 * step, n), y = x;
      CHECK_THROWS_AS(disturbed(bad), StepRejected);
      CHECK(saved(disturbed) == before);
      disturbed(x);
      fresh(y);
      CHECK(same_bits(x, y));
    }
    CHECK(saved(disturbed) == saved(fresh));
  });
}

TEST_CASE("a memory of sums does not outlive a mask that moved in a step sent uncoded") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    using Z = Scattered<Int8, ErrorFeedback>;
    const ReduceOptions options{.non_finite = NonFinite::propagate};
    const Vector weights = values_of<float>(7, 64);
    const GradualMagnitude policy{
        .weights = weights, .final_sparsity = 0.5, .begin = 3, .end = 4, .every = 1};
    OnThreads<GradualMagnitude, BitMask, Z> reduce{backend, policy, {}, {}, options};
    OnThreads<GradualMagnitude, BitMask, Scattered<Int8>> forgets{backend, policy, {}, {}, options};
    for (int step = 0; step < 6; ++step) {
      Vector x = values_of<float>(rank + 10 * step, 64);
      if (rank == 0 && step == 4) x.assign(64, infinity);
      Vector y = x;
      const Report report = reduce(x);
      forgets(y);
      CHECK((report.path == Path::uncoded) == (step == 4));
      if (step > 3) CHECK(same_bits(x, y));
    }
  });
}

TEST_CASE("pruned, and the survivors by owners") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    std::vector<bool> flags(200);
    for (std::size_t i = 0; i < 200; ++i) flags[i] = i % 3 == 0;
    OnThreads<Pruned, BitMask, Scattered<Int8>, ErrorFeedback> reduce{backend,
                                                                      Pruned::from_flags(flags)};
    std::vector<double> given(200), owed(200);
    for (int step = 0; step < 5; ++step) {
      Vector x = values_of<float>(rank + 10 * step, 200);
      for (int other = 0; other < 3; ++other) {
        const Vector theirs = values_of<float>(other + 10 * step, 200);
        for (std::size_t i = 0; i < 200; ++i) owed[i] += flags[i] ? double(theirs[i]) / 3 : 0;
      }
      reduce(x);
      for (std::size_t i = 0; i < 200; ++i) given[i] += x[i];
    }
    for (std::size_t i = 0; i < 200; ++i)
      CHECK(std::abs(given[i] - owed[i]) <= (flags[i] ? 6 * 128.0 / 254 : 0));
  });
}

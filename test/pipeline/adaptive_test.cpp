// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `Adaptive` chooses how values travel and nothing else: results, residuals, refusals and states
// are right on every way, and stay so when the choice changes.
#include <pipeline/support.hpp>

#include <pactrain/adaptive.hpp>
#include <pactrain/compress/cast.hpp>
#include <pactrain/compress/int4.hpp>
#include <pactrain/compress/ternary.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/gathered.hpp>
#include <pactrain/gradient_buckets.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/random_k.hpp>
#include <pactrain/policy/random_pruning.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/track_zeros.hpp>
#include <pactrain/scattered.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::refusal;
using reducer::restore;
using reducer::saved;

namespace {

constexpr std::size_t n = 300;

/// A model by which candidate `best` is always chosen, of `codecs` codecs.
CostModel preferring(std::size_t best, std::size_t codecs = 1) {
  CostModel model{.rate = 1e9, .codecs = std::vector<CodecCost>(codecs)};
  for (CodecCost& codec : model.codecs) codec.call = 10;
  if (best == CostModel::dense) model.pack = 1;
  if (best == CostModel::packed) model.copy = 1;
  if (best >= CostModel::first_codec) {
    model.rate = 1;
    model.codecs[best - CostModel::first_codec].call = 0;
    model.codecs[best - CostModel::first_codec].bytes = 0;
  }
  return model;
}

std::vector<float> gradient_of(int rank, Step step, std::size_t size = n) {
  std::vector<float> x(size);
  for (std::size_t i = 0; i < size; ++i) {
    x[i] = value_of<float>(rank, i + 1000 * static_cast<std::size_t>(step));
  }
  return x;
}

/// Dense first, then each candidate for two steps, and once more around: the candidate that a step
/// goes by, where a new model is used before steps 1, 3, 5 ...
constexpr std::size_t turn(Step step, std::size_t candidates) {
  return step == 0 ? 0 : static_cast<std::size_t>((step + 1) / 2) % candidates;
}
template <class R>
void turn_to(R& reduce, Step step, std::size_t candidates) {
  if (step % 2 == 1) {
    reduce.codec_state().use(preferring(turn(step, candidates), candidates - 2));
  }
}
template <class R>
bool keeps(R& reduce, std::size_t i) {
  return reduce.mask().representation().keep()(i);
}
Path path_of(std::size_t candidate) {
  return candidate == 0 ? Path::dense : candidate == 1 ? Path::uncoded : Path::packed;
}

}  // namespace

TEST_CASE_TEMPLATE("lossless ways give the bits of the packed sum, whatever is chosen", T, float,
                   float16, double) {
  with_ranks(3, [](HostBackend& backend, int rank) {
    const auto check = [&](auto policy, auto feedback) {
      using P = decltype(policy);
      using F = decltype(feedback);
      OnThreads<P, BitMask, Identity, F> plain{backend, policy};
      OnThreads<P, BitMask, Adaptive<Identity>, F> adaptive{
          backend, policy, {.model = preferring(0)}};
      for (Step step = 0; step < 9; ++step) {
        turn_to(adaptive, step, 3);
        std::vector<T> expected(n), found(n);
        for (std::size_t i = 0; i < n; ++i) {
          expected[i] = found[i] = value_of<T>(rank, i + 1000 * static_cast<std::size_t>(step));
        }
        const Report packed = plain(expected);
        const Report report = adaptive(found);
        CHECK(same_bits(found, expected));
        CHECK(report.path == path_of(turn(step, 3)));
        CHECK(report.kept == packed.kept);
      }
      CHECK(plain.mask().fingerprint() == adaptive.mask().fingerprint());
    };
    check(RandomPruning{.sparsity = 0.7, .seed = 3}, NoFeedback{});
    check(RandomPruning{.sparsity = 0.7, .seed = 3}, ErrorFeedback{});
    check(RandomK{.fraction = 0.3}, ErrorFeedback{});
    check(RandomK{.fraction = 0.3, .unbiased = true}, NoFeedback{});
  });
}

TEST_CASE("what is not conveyed stays in the residual from way to way") {
  const auto check = [](auto policy, auto codecs, bool drops) {
    with_ranks(3, [&](HostBackend& backend, int) {
      using Z = decltype(codecs);
      constexpr std::size_t candidates = CostModel::first_codec + Z::count;
      for (const double gamma : {1.0, 0.5}) {
        Z codec = codecs;
        codec.model = preferring(0, Z::count);
        OnThreads<decltype(policy), BitMask, Z, ErrorFeedback> reduce{
            backend, policy, codec, {.gamma = gamma}, {.reduction = Reduction::sum}};
        std::vector<double> owed(n), given(n);
        for (Step step = 0; step < 4 * candidates; ++step) {
          turn_to(reduce, step, candidates);
          for (int rank = 0; rank < 3; ++rank) {
            const auto gradient = gradient_of(rank, step);
            for (std::size_t i = 0; i < n; ++i) owed[i] += static_cast<double>(gradient[i]);
          }
          auto x = gradient_of(backend.communicator().rank(), step);
          CHECK(reduce(x).path == path_of(turn(step, candidates)));
          for (std::size_t i = 0; i < n; ++i) given[i] += static_cast<double>(x[i]);
        }
        const auto mine = reducer::residual_in<float>(saved(reduce), n);
        const auto residuals = gather_host_values(backend.executor(), backend.communicator(),
                                                  std::span<const float>(mine));
        for (std::size_t i = 0; i < n; ++i) {
          double kept = 0;
          for (std::size_t rank = 0; rank < 3; ++rank) {
            kept += static_cast<double>(residuals[rank * n + i]);
          }
          const bool dropped = drops && !keeps(reduce, i);
          if (dropped) {
            CHECK(given[i] == 0);
            CHECK(kept == 0);
          } else if (gamma == 1.0) {
            const double off = std::abs(given[i] + kept - owed[i]);
            if (off > 1e-4 * (std::abs(owed[i]) + 1000)) {
              FAIL_CHECK("entry " << i << ": given " << given[i] << ", kept " << kept << ", owed "
                                  << owed[i]);
            }
          }
        }
      }
    });
  };
  const Gathered<TopK> largest{.policy = {.k = 20}};
  check(RandomPruning{.sparsity = 0.5, .seed = 3}, Adaptive<Ternary>{}, true);
  check(RandomPruning{.sparsity = 0.5, .seed = 3},
        Adaptive<Ternary, Gathered<TopK>>{.codecs = {Ternary{}, largest}}, true);
  check(RandomK{.fraction = 0.4}, Adaptive<Ternary, Gathered<TopK>>{.codecs = {Ternary{}, largest}},
        false);
}

TEST_CASE("where nothing pays it is dense, and where the link is slow it is not") {
  with_ranks(2, [](HostBackend& backend, int) {
    CostModel fast{.rate = 1e12,
                   .call = 1e-6,
                   .copy = 1e-10,
                   .write = 1e-10,
                   .pack = 1e-9,
                   .unpack = 1e-9,
                   .codecs = {{.encode = 1e-9, .decode = 1e-9, .bytes = 1}}};
    CostModel slow = fast;
    slow.rate = 1e6;
    for (const auto& [model, path] : {std::pair{fast, Path::dense}, {slow, Path::packed}}) {
      OnThreads<RandomPruning, BitMask, Adaptive<Ternary>> reduce{
          backend, {.sparsity = 0.9}, {.model = model, .interval = 2}};
      std::vector<float> x(n, 1.0f);
      CHECK(reduce(x).path == Path::dense);
      for (int step = 1; step < 6; ++step) CHECK(reduce(x).path == path);
    }
  });
}

TEST_CASE("rank 0 decides for all") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    OnThreads<RandomPruning, BitMask, Adaptive<Ternary>> reduce{
        backend, {.sparsity = 0.5}, {.model = preferring(static_cast<std::size_t>(rank))}};
    std::vector<float> x(n, 1.0f);
    for (int step = 0; step < 3; ++step) CHECK(reduce(x).path == Path::dense);
  });
}

TEST_CASE("ranks that have a model wait while others calibrate theirs") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    for (const int given : {0, 1}) {
      Adaptive<Ternary> codec;
      if (rank == given) codec.model = preferring(CostModel::packed);
      OnThreads<RandomPruning, BitMask, Adaptive<Ternary>> reduce{
          backend, {.sparsity = 0.5}, codec};
      std::vector<float> x(n, 1.0f);
      for (int step = 0; step < 2; ++step) {
        const Report report = reduce(x);
        if (step == 1 && given == 0) CHECK(report.path == Path::uncoded);
      }
      CHECK(reduce.step() == 2);
    }
  });
}

TEST_CASE("one rank alone sends nothing and loses nothing") {
  HostBackend backend;
  OnThreads<RandomPruning, BitMask, Adaptive<Ternary>> reduce{backend, {.sparsity = 0.5}};
  for (Step step = 0; step < 3; ++step) {
    const auto gradient = gradient_of(0, step);
    auto x = gradient;
    const Report report = reduce(x);
    CHECK(report.path == Path::local);
    CHECK(report.bytes_sent == 0);
    for (std::size_t i = 0; i < n; ++i) CHECK(x[i] == (keeps(reduce, i) ? gradient[i] : 0));
  }
}

TEST_CASE("a mask that keeps less is decided upon at the next step") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    // Coding pays from a few kept entries on: a call of it costs what 100 packed values do.
    const CostModel model{.rate = 4e6, .codecs = {{.call = 1e-4, .bytes = 0}}};
    std::vector<float> weights = gradient_of(7, 0);
    OnThreads<GradualMagnitude, BitMask, Adaptive<Ternary>> reduce{
        backend,
        {.weights = std::span<const float>(weights), .final_sparsity = 0.9, .begin = 3, .end = 4},
        {.model = model, .interval = 1000}};
    std::vector<Path> paths;
    for (Step step = 0; step < 8; ++step) {
      auto x = gradient_of(rank, step);
      paths.push_back(reduce(x).path);
    }
    CHECK(paths[0] == Path::dense);
    CHECK(paths[1] == Path::packed);
    CHECK(paths.back() == Path::uncoded);
  });
}

TEST_CASE("buckets have ways of their own, and the bits of one call") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    // What packing saves on the wire is more than it costs the caller.
    const CostModel model{.rate = 1e6, .pack = 1e-6, .unpack = 1e-9, .codecs = {{.call = 1}}};
    OnThreads<RandomPruning, BitMask, Adaptive<Ternary>> reduce{
        backend, {.sparsity = 0.9}, {.model = model, .margin = 0.2}};
    OnThreads<RandomPruning, BitMask> plain{backend, {.sparsity = 0.9}};
    std::vector<float> a(200), b(20), expected(220);
    const std::vector<Slice<float>> slices{{"a", a}, {"b", b}};
    const std::vector<Slice<float>> both{{"a", std::span(expected).first(200)},
                                         {"b", std::span(expected).last(20)}};
    GradientBuckets buckets{reduce, slices, {.bytes = 100}};
    REQUIRE(buckets.bucket_count() == 2);
    for (Step step = 0; step < 5; ++step) {
      std::ranges::copy(gradient_of(rank, step, 220), expected.begin());
      std::copy_n(expected.begin(), 200, a.begin());
      std::copy_n(expected.begin() + 200, 20, b.begin());
      buckets.ready("b");
      buckets.ready("a");
      buckets.finish();
      plain(both);
      CHECK(same_bits(a, std::vector(expected.begin(), expected.begin() + 200)));
      CHECK(same_bits(b, std::vector(expected.begin() + 200, expected.end())));
    }
    const auto seen = reduce.codec_state().decisions().buckets();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].size.entries == 20);
    CHECK(seen[1].size.entries == 200);
    CHECK(seen[1].candidate == CostModel::packed);
    CHECK(seen[1].ready >= seen[0].ready);
  });
}

TEST_CASE("a state goes on as the saved one would, on every way") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    using R = OnThreads<RandomPruning, BitMask, Adaptive<Ternary, Scattered<Int4>>, ErrorFeedback>;
    const Adaptive<Ternary, Scattered<Int4>> codec{.model = preferring(0, 2), .interval = 3};
    for (Step at = 0; at < 9; ++at) {
      R first{backend, {.sparsity = 0.5}, codec}, second{backend, {.sparsity = 0.5}, codec};
      for (Step step = 0; step < at; ++step) {
        turn_to(first, step, 4);
        auto x = gradient_of(rank, step);
        first(x);
      }
      const std::string state = saved(first);
      restore(second, state);
      CHECK(saved(second) == state);
      first.codec_state().use(preferring(3, 2));  // a model is no part of a state
      second.codec_state().use(preferring(3, 2));
      for (Step step = at; step < at + 4; ++step) {
        auto x = gradient_of(rank, step), y = x;
        const Report report = first(x);
        CHECK(second(y).path == report.path);
        CHECK(same_bits(x, y));
      }
      CHECK(saved(first) == saved(second));
      for (std::size_t size = 0; size < state.size(); size += 17) {
        CHECK_THROWS_AS(restore(second, state.substr(0, size)), StateError);
        std::string damaged = state;
        damaged[size] = static_cast<char>(damaged[size] ^ 1);
        CHECK_THROWS_AS(restore(second, damaged), StateError);
      }
    }
  });
}

TEST_CASE("what is not finite is refused, or carried, on every way") {
  for (int culprit = 0; culprit < 2; ++culprit) {
    with_ranks(2, [&](HostBackend& backend, int rank) {
      using R = OnThreads<RandomPruning, BitMask, Adaptive<Ternary>, ErrorFeedback>;
      R rejects{backend, {.sparsity = 0.5}, {.model = preferring(0)}};
      R carries{backend,
                {.sparsity = 0.5},
                {.model = preferring(0)},
                {},
                {.non_finite = NonFinite::propagate}};
      for (Step step = 0; step < 7; ++step) {
        turn_to(rejects, step, 3);
        turn_to(carries, step, 3);
        auto bad = gradient_of(rank, step);
        std::size_t at = 0;
        while (step > 0 && !keeps(rejects, at)) ++at;
        if (rank == culprit) bad[at] = infinity;
        auto x = bad;
        const std::string text = refusal<StepRejected>(backend, [&] { rejects(x); });
        CHECK(reducer::contains(text, "rank " + std::to_string(culprit)));
        CHECK(same_bits(x, bad));
        x = gradient_of(rank, step);
        CHECK(rejects(x).path == path_of(turn(step, 3)));
        x = bad;
        const Report report = carries(x);
        CHECK(report.non_finite);
        if (keeps(carries, at)) CHECK(x[at] == infinity);
        for (const float y : std::span(x).subspan(at + 1)) CHECK(is_finite(y));
      }
    });
  }
}

TEST_CASE("a rank whose call is wrong is told of on every way, and the others go on") {
  for (int culprit = 0; culprit < 2; ++culprit) {
    with_ranks(2, [&](HostBackend& backend, int rank) {
      OnThreads<RandomPruning, BitMask, Adaptive<Ternary>> reduce{
          backend, {.sparsity = 0.5}, {.model = preferring(0)}};
      for (Step step = 0; step < 7; ++step) {
        turn_to(reduce, step, 3);
        auto right = gradient_of(rank, step);
        if (step > 0) {
          auto wrong = gradient_of(rank, step, rank == culprit ? n + 1 : n);
          const std::string text = refusal<PreconditionError>(backend, [&] { reduce(wrong); });
          CHECK(reducer::contains(text, "rank " + std::to_string(culprit)));
        }
        CHECK(reduce(right).path == path_of(turn(step, 3)));
      }
    });
  }
}

TEST_CASE("a stray outside a learned mask is not lost on any way") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    OnThreads<TrackZeros, BitMask, Adaptive<Cast<float16>>> reduce{
        backend, {.patience = 2}, {.model = preferring(0)}};
    for (Step step = 0; step < 21; ++step) {
      turn_to(reduce, step, 3);
      std::vector<float> x(n, 0.0f);
      for (std::size_t i = 0; i < n; i += 3) x[i] = 1.0f;
      const bool strays = step > 3 && step % 4 == 0;
      if (strays && rank == 1) x[static_cast<std::size_t>(step) * 3 + 1] = 4.0f;
      const Report report = reduce(x);
      if (strays) {
        CHECK(report.path == Path::dense);
        CHECK(x[static_cast<std::size_t>(step) * 3 + 1] == 2.0f);
      }
      CHECK(x[0] == 1.0f);
    }
  });
}

TEST_CASE("what cannot be is refused") {
  HostBackend backend;
  using R = OnThreads<RandomPruning, BitMask, Adaptive<Ternary>>;
  CHECK_THROWS_AS((R{backend, {}, {.model = CostModel{}}}), PreconditionError);
  CHECK_THROWS_AS((R{backend, {}, {.model = preferring(0, 2)}}), PreconditionError);
  CHECK_THROWS_AS((R{backend, {}, {.margin = 1.0}}), PreconditionError);
  R reduce{backend};
  CHECK_THROWS_AS(reduce.codec_state().use(CostModel{}), PreconditionError);
  CHECK(!reduce.codec_state().model());
}

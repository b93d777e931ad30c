// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pruning by given scores, masks that move, densities by layer, and blocks: the papers' numbers.
#include <pipeline/support.hpp>
#include <suite/plain_executor.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/gradient_buckets.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/block_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/block_magnitude.hpp>
#include <pactrain/policy/by_score.hpp>
#include <pactrain/policy/layer_densities.hpp>
#include <pactrain/policy/non_zero_blocks.hpp>
#include <pactrain/policy/one_shot_magnitude.hpp>
#include <pactrain/policy/random_pruning.hpp>
#include <pactrain/policy/rig_l.hpp>
#include <pactrain/scores.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using doctest::Approx;
using reducer::contains;
using reducer::refusal;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;

/// The mask of a reducer, by what it leaves of ones.
template <class R>
Vector mask_of(R& reduce, std::size_t n) {
  Vector ones(n, 1.0f);
  reduce.mask().apply(std::span<float>(ones));
  return ones;
}

template <class P>
std::string refused(const P& options) {
  return message_of<PreconditionError>(
      [&] { typename P::template on<HostExecutor> policy(options); });
}

}  // namespace

TEST_CASE("worked: SNIP scores are |g w| over their sum, of the mean gradient") {
  for (const int ranks : {1, 2, 3}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      const Vector weights{.5f, -1, .1f, 2};
      Vector gradient{.2f, .1f, -.3f, .01f}, scores(4);
      // Ranks' gradients differ; their mean is the example's.
      const float off = static_cast<float>(rank) - static_cast<float>(ranks - 1) / 2;
      for (float& g : gradient) g += off;
      snip_scores(backend, weights, gradient, scores);
      const double expected[] = {.4, .4, .12, .08};
      for (std::size_t i = 0; i < 4; ++i) CHECK(scores[i] == Approx(expected[i]).epsilon(1e-5));
      CHECK(reducer::same_on_all(backend, reducer::hash(scores)));
    });
  }
}

TEST_CASE("worked: GraSP removes the highest -w Hg, which is the lowest score") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    // Loss 1/2 w^T A w: g = A w, Hg = A g.
    const Vector weights{1, -2, .5f};
    const float a[3][3] = {{2, 0, 0}, {0, 1, .5f}, {0, .5f, 1}};
    Vector g(3), hg(3), scores(3);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) g[size_t(i)] += a[i][j] * weights[size_t(j)];
    }
    CHECK(g == Vector{2, -1.75f, -.5f});
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) hg[size_t(i)] += a[i][j] * g[size_t(j)];
    }
    CHECK(hg == Vector{4, -2, -1.375f});
    for (float& x : hg) x *= rank == 0 ? 0.5f : 1.5f;  // averaged over ranks
    grasp_scores(backend, weights, hg, scores);
    const float sum = 4 + 4 - .6875f;
    CHECK(scores[0] == Approx(4 / sum));
    CHECK(scores[1] == Approx(4 / sum));
    CHECK(scores[2] == Approx(-.6875 / sum));

    OnThreads<ByScore, BitMask> reduce{backend, {.scores = scores, .sparsity = 1.0 / 3}};
    Vector gradient(3, 1.0f);
    reduce(gradient);
    CHECK(gradient == Vector{1, 1, 0});  // index 2 goes, not one of those with score -4
  });
}

TEST_CASE("scores of other sizes are refused on all ranks; zeros stay zeros") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    Vector weights(3), gradient(rank == 1 ? 2 : 3), scores(3);
    const std::string text = refusal<PreconditionError>(
        backend, [&] { snip_scores(backend, weights, gradient, scores); });
    CHECK(contains(text, "rank 1: weights, gradient and scores of slice 0 differ in size"));
    gradient.resize(3);
    snip_scores(backend, weights, gradient, scores);
    CHECK(scores == Vector(3));
    grasp_scores(backend, weights, gradient, scores);
    CHECK(scores == Vector(3));
  });
}

TEST_CASE_TEMPLATE("signed scores are ranked as numbers, ties by lowest index", E, HostExecutor,
                   PlainExecutor) {
  E exec;
  for_gradient_types([&]<class S>() {
    const std::vector<std::size_t> sizes{100, 0, 7, 64};
    auto scores = tied_values<S>(171, 3);  // of both signs, zeros among them
    scores[5] = S(-0.0f);
    scores[9] = S(0.0f);
    const Net<S, E> net(exec, sizes, scores);
    const auto expected = [&](std::size_t first, std::size_t n, std::size_t kept, Flags& flags) {
      std::vector<std::size_t> order(n);
      std::iota(order.begin(), order.end(), first);
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const auto x = static_cast<arithmetic_t<S>>(scores[a]);
        const auto y = static_cast<arithmetic_t<S>>(scores[b]);
        return x > y || (x == y && a < b);
      });
      for (std::size_t i = 0; i < n; ++i) flags[order[i]] = i < kept ? 1 : 0;
    };
    for (const double sparsity : {0.0, .3, .77}) {
      Flags global(171), local(171);
      expected(0, 171, 171 - fraction_of(171, sparsity), global);
      for (const Part& part : net.model.parts()) {
        expected(part.first, part.size, part.size - fraction_of(part.size, sparsity), local);
      }
      const ByScore together{.scores = net.weights, .sparsity = sparsity};
      const ByScore apart{
          .scores = net.weights, .sparsity = sparsity, .scope = Scope::per_parameter};
      CHECK(decided(exec, together, net.model, net.places()) == global);
      CHECK(decided(exec, apart, net.model, net.shredded(3)) == local);
      std::fill_n(local.begin() + 100, 7, std::uint8_t{1});
      const ByScore exempt{.scores = net.weights,
                           .sparsity = sparsity,
                           .scope = Scope::per_parameter,
                           .exempt = {"p2"}};
      CHECK(decided(exec, exempt, net.model, net.places()) == local);
      const ByScore later{.scores = net.weights, .sparsity = sparsity, .step = 4};
      CHECK(count(decided(exec, later, net.model, net.places(), 3)) == 171);
      CHECK(decided(exec, later, net.model, net.places(), 4) == global);
    }
  });
}

TEST_CASE("worked: Erdos-Renyi-Kernel densities") {
  const auto two = erk_densities({{100, 100}, {100, 10}}, .9);
  CHECK(two[0] == Approx(.07097).epsilon(1e-4));
  CHECK(two[1] == Approx(.39032).epsilon(1e-4));
  CHECK(two[0] * 10000 == Approx(709.7).epsilon(1e-4));
  CHECK(two[1] * 1000 == Approx(390.3).epsilon(1e-4));
  const auto dense_first = erk_densities({{10, 10}, {100, 100}}, .5);
  CHECK(dense_first[0] == 1);
  CHECK(dense_first[1] == Approx(.495));
  CHECK(erk_densities({{3, 3}, {5}}, 0) == std::vector<double>{1, 1});
  CHECK(uniform_densities(3, .75) == std::vector<double>{1, .25, .25});
  CHECK(erk_densities({}, .5).empty());
  CHECK(contains(message_of<PreconditionError>([] { (void)erk_densities({{3, 0}}, .5); }),
                 "a layer has no entries"));
  CHECK(contains(message_of<PreconditionError>([] { (void)erk_densities({{3}}, 1); }),
                 "the sparsity is 1.000000"));
}

TEST_CASE("a sparsity for each part") {
  HostExecutor exec;
  const auto values = values_of<float>(1, 11100);
  const Net<float, HostExecutor> net(exec, {10000, 1000, 100}, values);
  const auto densities = erk_densities({{100, 100}, {100, 10}, {100}}, .9);
  const Sparsity sparsity = Sparsity::from_densities(densities);
  const auto check = [&](const auto& options) {
    const Flags kept = decided(exec, options, net.model, net.places(), 1);
    for (std::size_t i = 0; i < 3; ++i) {
      const Part& part = net.model.parts()[i];
      const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(part.first);
      CHECK(count(Flags(begin, begin + static_cast<std::ptrdiff_t>(part.size))) ==
            part.size - fraction_of(part.size, 1 - densities[i]));
    }
  };
  check(OneShotMagnitude{.weights = net.weights, .sparsity = sparsity});
  check(RandomPruning{.sparsity = sparsity});
  check(ByScore{.scores = net.weights, .sparsity = sparsity, .scope = Scope::per_parameter});
  check(RigL{.weights = net.weights, .sparsity = sparsity});
  check(BlockMagnitude<1>{.weights = net.weights, .sparsity = sparsity});

  CHECK(contains(refused(OneShotMagnitude{
                     .weights = net.weights, .sparsity = sparsity, .scope = Scope::global}),
                 "is given for each part but parts are ranked together"));
  CHECK(contains(refused(RandomPruning{.sparsity = std::vector<double>{.5, 1.0}}),
                 "the sparsity of part 1 is 1.000000"));
  CHECK(contains(message_of<PreconditionError>([&] {
                   (void)decided(exec, RandomPruning{.sparsity = std::vector<double>{.5}},
                                 net.model, net.places());
                 }),
                 "there are 1 sparsities but the model has 3 parts"));
  CHECK(RandomPruning{.sparsity = .5}.fingerprint() != RandomPruning{.sparsity = .6}.fingerprint());
  CHECK(RandomPruning{.sparsity = sparsity}.fingerprint() != RandomPruning{}.fingerprint());
}

TEST_CASE("worked: RigL drops the smallest weights and grows where the gradient is largest") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    Vector weights{.9f, -.1f, .5f, 0, 0, .05f};
    OnThreads<RigL, BitMask> reduce{backend,
                                    {.weights = Values(weights),
                                     .initial = Pruned::from_flags(Vector{1, 1, 1, 0, 0, 1}),
                                     .every = 2,
                                     .end = 4,
                                     .fraction = .5,
                                     .anneal = Anneal::constant}};
    // Ranks' own gradients would grow other weights; their mean is the example's.
    const auto step = [&] {
      Vector gradient{.1f, .7f, -.2f, -.9f, .3f, .4f};
      for (float& g : gradient) g *= rank == 0 ? 0.25f : 1.75f;
      gradient[4] += rank == 0 ? 50.0f : -50.0f;
      const Report report = reduce(gradient);
      return std::pair(gradient, report.kept);
    };
    auto [gradient, kept] = step();
    CHECK(kept == 4);
    CHECK(mask_of(reduce, 6) == Vector{1, 1, 1, 0, 0, 1});
    step();
    std::tie(gradient, kept) = step();  // step 2: dense
    CHECK(kept == 6);
    CHECK(gradient[1] == Approx(.7));
    CHECK(gradient[3] == 0);  // it grows, from the next step on
    CHECK(gradient[4] == 0);
    CHECK(gradient[5] == 0);  // it was dropped
    const std::string state = saved(reduce);
    std::tie(gradient, kept) = step();
    CHECK(kept == 4);
    CHECK(mask_of(reduce, 6) == Vector{1, 1, 1, 1, 0, 0});
    CHECK(gradient[3] == Approx(-.9));
    reduce.mask().apply(std::span<float>(weights));
    CHECK(weights == Vector{.9f, -.1f, .5f, 0, 0, 0});  // 1 was dropped, grew, keeps its value
    step();
    step();  // no updates any more
    CHECK(mask_of(reduce, 6) == Vector{1, 1, 1, 1, 0, 0});
  });
}

TEST_CASE("worked: the exchanged share follows a cosine") {
  const RigL options{.weights = {}, .every = 100, .end = 1000};
  CHECK(options.fraction_at(0) == Approx(.3));
  CHECK(options.fraction_at(500) == Approx(.15));
  CHECK(options.fraction_at(1000) == 0);
  CHECK(options.fraction_at(2000) == 0);
  CHECK(!options.updates(0));
  CHECK(options.updates(900));
  CHECK(!options.updates(1000));
  CHECK(!options.updates(950));
}

TEST_CASE("masks that move keep their size; a share of 0 moves nothing; only steps decide") {
  for (const Growth growth : {Growth::gradient, Growth::random}) {
    for (const int ranks : {1, 2})
      with_ranks(ranks, [&](HostBackend& backend, int rank) {
        const std::size_t n = 300;
        Vector weights = values_of<float>(3, n), momentum(n);
        const auto slices = [&](Vector& of) {
          const std::span<float> all(of);
          return std::vector<Slice<float>>{
              {"a", all.first(200)}, {"bias", all.subspan(200, 20)}, {"b", all.subspan(220)}};
        };
        const RigL options{.weights = Values(slices(weights)),
                           .sparsity = .8,
                           .every = 2,
                           .end = 9,
                           .growth = growth,
                           .seed = 2,
                           .exempt = {"bias"}};
        using Reducer = OnThreads<RigL, IndexMask, Identity, ErrorFeedback>;
        Reducer reduce{backend, options};
        RigL still_options = options;
        still_options.fraction = 0;
        Reducer still{backend, still_options};
        Vector before;
        std::size_t moves = 0;
        for (int step = 0; step < 12; ++step) {
          Vector gradient = values_of<float>(rank + 9 * step, n), same = gradient;
          Vector again = gradient, bad = gradient;
          const std::string state = saved(reduce);
          Reducer loaded{backend, options};
          restore(loaded, state);
          bad[7] = rank == 0 ? infinity : 1;
          CHECK_THROWS_AS(reduce(slices(bad)), StepRejected);
          if (step > 0) CHECK(saved(reduce) == state);
          const Report report = reduce(slices(gradient));
          loaded(slices(again));
          CHECK(same_bits(again, gradient));
          CHECK(saved(loaded) == saved(reduce));
          still(slices(same));

          const bool dense = growth == Growth::gradient && options.updates(Step(step));
          CHECK(report.kept == (dense ? n : 40 + 20 + 16));
          const Vector now = mask_of(reduce, n);
          for (std::size_t i = 0; i < n; ++i) {
            if (now[i] == 0) CHECK(gradient[i] == 0);
          }
          for (std::size_t i = 200; i < 220; ++i) CHECK(now[i] == 1);
          if (dense) continue;
          if (!before.empty() && now != before) {
            ++moves;
            double common = 0, all = 0;
            for (std::size_t i = 0; i < n; ++i) {
              common += double(now[i] * before[i]);
              all += double(now[i]);
            }
            CHECK(common >= .7 * all - 3);  // no more than the share moves
          }
          if (step == 0) CHECK(mask_of(still, n) == now);
          before = now;
          reduce.mask().apply(slices(weights));
          for (std::size_t i = 0; i < n; ++i) weights[i] -= .01f * gradient[i];
        }
        CHECK(moves == 3);  // the share of step 8 is less than one weight
      });
  }
}

TEST_CASE_TEMPLATE("a mask moves the same way on any executor, by a share of up to all", E,
                   HostExecutor, PlainExecutor) {
  E exec;
  const auto values = tied_values<double>(172, 4);
  const auto gradient = tied_values<float16>(172, 5);
  const std::vector<std::size_t> sizes{100, 0, 7, 65};
  const Net<double, E> net(exec, sizes, values);
  const Net<float16, E> reduced(exec, sizes, gradient);
  for (const double share : {.2, 1.0}) {
    const RigL options{.weights = net.weights,
                       .sparsity = .5,
                       .every = 4,
                       .end = 5,
                       .fraction = share,
                       .anneal = Anneal::constant};
    const auto moved = [&](std::uint64_t cuts) {
      typename RigL::on<E> policy(options);
      const Flags before = decided(exec, policy, net.model, net.places(), 0);
      CHECK(count(decided(exec, policy, net.model, net.places(), 4)) == 172);
      auto pieces = cuts == 0 ? reduced.whole() : reduced.shredded(cuts);
      std::ranges::sort(pieces, {}, &Piece<const float16>::first);
      policy.observe(exec, net.model, std::span<const Piece<const float16>>(pieces), 4);
      const Flags after = decided(exec, policy, net.model, net.places(), 5);
      for (const Part& part : net.model.parts()) {  // by a sort of what the paper says
        const auto at = [&](const Flags& flags, std::size_t i) { return flags[part.first + i]; };
        std::vector<std::size_t> order(part.size);
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto by = [&](const auto& size, const Flags& among, std::size_t k, Flags& to) {
          std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            const auto x = size[part.first + a], y = size[part.first + b];
            return magnitude(x) > magnitude(y) || (magnitude(x) == magnitude(y) && a < b);
          });
          for (const std::size_t i : order) {
            if (k == 0 || at(among, i) == 0) continue;
            to[part.first + i] = 1;
            --k;
          }
        };
        Flags expected(172), free(172, 1);
        std::size_t n = 0;
        for (std::size_t i = 0; i < part.size; ++i) n += at(before, i);
        by(values, before, n - fraction_of(n, share), expected);
        for (std::size_t i = 0; i < part.size; ++i) free[part.first + i] = !at(expected, i);
        by(gradient, free, fraction_of(n, share), expected);
        for (std::size_t i = 0; i < part.size; ++i) CHECK(at(after, i) == at(expected, i));
      }
      return after;
    };
    CHECK(moved(0) == moved(3));
    RigL set = options;
    set.growth = Growth::random;
    typename RigL::on<E> policy(set);
    const Flags before = decided(exec, policy, net.model, net.places(), 0);
    const Flags after = decided(exec, policy, net.model, net.places(), 4);
    CHECK(after != before);
    CHECK(count(after) == count(before));
    CHECK(decided(exec, policy, net.model, net.places(), 4) == after);
  }
}

TEST_CASE("a mask moves the same way in buckets") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    const std::size_t n = 200;
    Vector weights = values_of<float>(3, n), one(n), other(n);
    const auto slices = [&](Vector& of) {
      const std::span<float> all(of);
      return std::vector<Slice<float>>{{"a", all.first(90)}, {"b", all.subspan(90)}};
    };
    const RigL options{.weights = Values(slices(weights)), .sparsity = .5, .every = 1, .end = 6};
    OnThreads<RigL, BitMask> whole{backend, options}, parts{backend, options};
    static_assert(OnThreads<RigL, BitMask>::takes_parts);
    const auto gradients = slices(other);
    GradientBuckets buckets(parts, std::span<const Slice<float>>(gradients), {.bytes = 8});
    for (int step = 0; step < 9; ++step) {
      one = values_of<float>(rank + 5 * step, n);
      std::ranges::copy(one, other.begin());  // buckets know where it is
      whole(slices(one));
      buckets.ready("b");
      buckets.ready("a");
      buckets.finish();
      CHECK(same_bits(one, other));
      CHECK(mask_of(whole, n) == mask_of(parts, n));
    }
  });
}

TEST_CASE("masks that move: options are checked, and NaNs found before anything moves") {
  const Vector weights(4, 1.0f);
  CHECK(contains(refused(RigL{}), "the policy has no weights"));
  CHECK(contains(refused(RigL{.weights = Values(weights), .every = 0}), "every 0 steps"));
  CHECK(contains(refused(RigL{.weights = Values(weights), .fraction = 1.5}),
                 "the fraction is 1.500000 (the share of weights that is exchanged)"));
  CHECK(contains(refused(RigL{.weights = Values(weights), .exempt = {"x"}}), "called 'x'"));
  CHECK(contains(refused(ByScore{}), "the policy has no scores"));
  CHECK(contains(refused(ByScore{.scores = Values(weights), .sparsity = 1}), "the sparsity is 1"));
  with_ranks(2, [](HostBackend& backend, int rank) {
    Vector changing(4, 1.0f), gradient(4, 1.0f);
    OnThreads<RigL, BitMask> reduce{
        backend, {.weights = Values(changing), .sparsity = .5, .every = 1, .end = 9}};
    reduce(gradient);
    changing[2] = rank == 1 ? not_a_number : 1;
    const std::string state = saved(reduce);
    const std::string text = refusal<PreconditionError>(backend, [&] { reduce(gradient); });
    CHECK(contains(text, "the weights hold a NaN at entry 2"));
    CHECK(saved(reduce) == state);
    changing[2] = 1;
    CHECK(reduce(gradient).kept == 4);

    Vector scores(4, rank == 1 ? not_a_number : 1.0f), longer(5, 1.0f);
    OnThreads<ByScore, BitMask> by_score{backend, {.scores = Values(scores), .sparsity = .5}};
    CHECK(contains(refusal<PreconditionError>(backend, [&] { by_score(gradient); }),
                   "the scores hold a NaN"));
    CHECK(contains(refusal<PreconditionError>(backend, [&] { by_score(longer); }),
                   "the scores of 'parameter 0' have 4 entries"));
  });
}

TEST_CASE("worked: OmniReduce's blocks: {0, 2, 5} and {1, 2} travel as {0, 1, 2, 5}") {
  constexpr std::size_t B = 4;
  const auto blocks = [](const std::vector<std::size_t>& set) {
    Vector gradient(6 * B);
    for (const std::size_t block : set) gradient[block * B + block % B] = -1;
    return gradient;
  };
  const auto run = [&]<class Mask>() {
    with_ranks(2, [&](HostBackend& backend, int rank) {
      OnThreads<NonZeroBlocks<B>, Mask> reduce{backend, {}, {}, {}, {.reduction = Reduction::sum}};
      Vector gradient =
          blocks(rank == 0 ? std::vector<std::size_t>{0, 2, 5} : std::vector<std::size_t>{1, 2});
      const Report report = reduce(gradient);
      CHECK(report.kept == 4 * B);
      CHECK(report.payload_bytes == 4 * B * sizeof(float));
      Vector expected = blocks({0, 1, 2, 5});
      expected[2 * B + 2] = -2;
      CHECK(gradient == expected);  // exact
      Vector zeros(6 * B);
      CHECK(reduce(zeros).payload_bytes == 0);
      CHECK(zeros == Vector(6 * B));
    });
  };
  run.operator()<BitMask>();
  run.operator()<BlockMask<B>>();
}

TEST_CASE_TEMPLATE("blocks are kept whole where an entry exceeds the threshold", E, HostExecutor,
                   PlainExecutor) {
  E exec;
  for_gradient_types([&]<class T>() {
    const std::vector<std::size_t> sizes{100, 0, 7, 64, 1};
    auto values = tied_values<T>(172, 1);
    for (std::size_t i = 0; i < 172; ++i) {
      if (i / 11 % 3 != 0) values[i] = to<T>(i % 2 == 0 ? 0.0 : -0.0);
    }
    values[171] = to<T>(std::nan(""));
    const Net<T, E> net(exec, sizes, values);
    for (const double threshold : {0.0, 1.5, 1.75}) {
      Flags expected(172);
      for (const Part& part : net.model.parts()) {
        for (std::size_t i = 0; i < part.size; ++i) {
          bool any = false;
          for (std::size_t j = i / 5 * 5; j < std::min(part.size, i / 5 * 5 + 5); ++j) {
            const auto x = static_cast<double>(arithmetic_t<T>(values[part.first + j]));
            any = any || !(std::abs(x) <= threshold);
          }
          expected[part.first + i] = any ? 1 : 0;
        }
      }
      const NonZeroBlocks<5> options{.threshold = threshold};
      CHECK(decided(exec, options, net.model, net.whole()) == expected);
      CHECK(decided(exec, options, net.model, net.shredded(7)) == expected);
      CHECK(count(expected) > 0);
      CHECK(count(expected) < 172);
    }
  });
  CHECK(contains(refused(NonZeroBlocks<4>{.threshold = -1}), "the threshold is -1.000000"));
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RandomK and RandomBlock: how many, how evenly, and what they leave out.
#include <pipeline/support.hpp>
#include <suite/plain_executor.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/compress/ternary.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/random_block.hpp>
#include <pactrain/policy/random_k.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using doctest::Approx;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;
using Layout = test::Net<float, HostExecutor>;

/// What is kept at `step` of a model without values.
template <class P>
Flags kept_at(const P& options, const Layout& net, Step step) {
  HostExecutor exec;
  return decided(exec, options, net.model, net.places(), step);
}
Layout net_of(const std::vector<std::size_t>& sizes) {
  static HostExecutor exec;
  std::size_t n = 0;
  for (const std::size_t size : sizes) n += size;
  return {exec, sizes, Vector(n)};
}

/// Pearson's statistic of how often each entry was kept in so many steps, each with probability p.
template <class P>
double chi_square(const P& options, const Layout& net, int steps, double p) {
  std::vector<double> times(net.model.size());
  for (int step = 0; step < steps; ++step) {
    const Flags kept = kept_at(options, net, static_cast<Step>(step));
    for (std::size_t i = 0; i < kept.size(); ++i) times[i] += kept[i];
  }
  double sum = 0;
  for (const double t : times) sum += (t - steps * p) * (t - steps * p) / (steps * p);
  return sum;
}

/// A seed with which step 0 keeps `first` and step 1 keeps `second` of four entries.
template <class P>
P with_sets(P options, const Flags& first, const Flags& second) {
  const Layout net = net_of({4});
  while (kept_at(options, net, 0) != first || kept_at(options, net, 1) != second) {
    REQUIRE(++options.seed < 10000);
  }
  return options;
}

}  // namespace

TEST_CASE_TEMPLATE("worked: two ranks, two of four entries, the rest remembered", P, RandomK,
                   RandomBlock) {
  const bool blocks = std::same_as<P, RandomBlock>;
  // The example's sets for entries; for blocks, the same sums over {0, 1} and {2, 3}.
  const P options = blocks ? with_sets(P{.fraction = .5}, {1, 1, 0, 0}, {0, 0, 1, 1})
                           : with_sets(P{.fraction = .5}, {1, 0, 1, 0}, {0, 1, 0, 1});
  with_ranks(2, [&](HostBackend& backend, int rank) {
    OnThreads<P, BitMask, Identity, ErrorFeedback> reduce{backend, options};
    const Vector mine = rank == 0 ? Vector{1, 2, 3, 4} : Vector{3, 2, 1, 0};
    Vector gradient = mine;
    const Report report = reduce(gradient);
    CHECK(report.payload_bytes == 2 * sizeof(float));
    const auto residual = [&] { return reducer::residual_in<float>(saved(reduce), 4); };
    if (blocks) {
      CHECK(gradient == Vector{2, 2, 0, 0});
      CHECK(residual() == (rank == 0 ? Vector{0, 0, 3, 4} : Vector{0, 0, 1, 0}));
      reduce(gradient = mine);
      CHECK(gradient == Vector{0, 0, 4, 4});
    } else {
      CHECK(gradient == Vector{2, 0, 2, 0});
      CHECK(residual() == (rank == 0 ? Vector{0, 2, 0, 4} : Vector{0, 2, 0, 0}));
      reduce(gradient = mine);
      CHECK(gradient == Vector{0, 4, 0, 4});
      CHECK(residual() == (rank == 0 ? Vector{1, 0, 3, 0} : Vector{3, 0, 1, 0}));
    }
  });
}

TEST_CASE("worked: a block that reaches the end goes on at the beginning") {
  const kernel::KeepRun run{0, 4, 5, 3};
  Flags kept;
  for (std::size_t i = 0; i < 5; ++i) kept.push_back(run(i) ? 1 : 0);
  CHECK(kept == Flags{1, 1, 0, 0, 1});
  const Layout net = net_of({5});
  std::size_t wrapped = 0;
  for (Step step = 0; step < 100; ++step) {
    const Flags drawn = kept_at(RandomBlock{.fraction = .6}, net, step);
    CHECK(count(drawn) == 3);
    std::size_t edges = 0;  // around the circle there is one run
    for (std::size_t i = 0; i < 5; ++i) edges += drawn[i] != drawn[(i + 1) % 5] ? 1 : 0;
    CHECK(edges == 2);
    wrapped += drawn[0] != 0 && drawn[4] != 0 ? 1 : 0;
  }
  CHECK(wrapped > 20);
  CHECK(wrapped < 60);  // two of five places
}

TEST_CASE_TEMPLATE("exactly so many, of each parameter or of all, others in each step", P, RandomK,
                   RandomBlock) {
  const std::vector<std::size_t> sizes{1, 100, 0, 63, 1000, 3};
  const Layout net = net_of(sizes);
  for (const double fraction : {1e-6, .01, .3, 1.0}) {
    Flags before;
    for (Step step = 0; step < 6; ++step) {
      const Flags kept = kept_at(P{.fraction = fraction}, net, step);
      for (const Part& part : net.model.parts()) {
        const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(part.first);
        const Flags of_part(begin, begin + static_cast<std::ptrdiff_t>(part.size));
        CHECK(count(of_part) == kept_of(part.size, fraction));
      }
      CHECK(kept == kept_at(P{.fraction = fraction}, net, step));
      CHECK((kept != before || fraction == 1));
      CHECK((kept != kept_at(P{.fraction = fraction, .seed = 1}, net, step) || fraction == 1));
      before = kept;
      CHECK(count(kept_at(P{.fraction = fraction, .scope = Scope::global}, net, step)) ==
            kept_of(1167, fraction));
      const Flags exempt = kept_at(
          P{.fraction = fraction, .scope = Scope::global, .exempt = {"p1", "p2"}}, net, step);
      CHECK(count(exempt) == 100 + kept_of(1067, fraction));
      for (std::size_t i = 1; i < 101; ++i) CHECK(exempt[i] == 1);
    }
  }
  // A part's set does not depend on what else is in the model after it.
  const Flags shorter = kept_at(P{.fraction = .3}, net_of({1, 100}), 3);
  const Flags longer = kept_at(P{.fraction = .3}, net, 3);
  CHECK(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST_CASE_TEMPLATE("the set depends on neither cuts nor executor", P, RandomK, RandomBlock) {
  HostExecutor exec;
  PlainExecutor plain;
  const Layout net = net_of({700, 1, 0, 299});
  for (const Scope scope : {Scope::per_parameter, Scope::global}) {
    const P options{.fraction = .2, .seed = 4, .scope = scope};
    typename P::template on<HostExecutor> policy(options);
    const Flags whole = decided(exec, policy, net.model, net.places(), 5);
    CHECK(answers(exec, policy, net.model, net.shredded(2)) == whole);
    CHECK(decided(plain, options, net.model, net.shredded(3), 5) == whole);
  }
}

TEST_CASE_TEMPLATE("every entry is as likely as any other", P, RandomK, RandomBlock) {
  // The statistic has a mean below the number of entries, n (1 - p) or so for independent steps;
  // an entry that were never or always kept would add (1 - p) / p or p times the steps.
  const Layout small = net_of({5}), large = net_of({50});
  CHECK(chi_square(P{.fraction = .6}, small, 4000, .6) < 20);
  CHECK(chi_square(P{.fraction = .1}, large, 4000, .1) < 100);
  CHECK(chi_square(P{.fraction = .1, .scope = Scope::global}, net_of({20, 30}), 4000, .1) < 100);
}

TEST_CASE_TEMPLATE("what is left out has its share of the square, on the average", P, RandomK,
                   RandomBlock) {
  const std::size_t n = 200;
  const Vector x = values_of<float>(1, n);
  double all = 0, missed = 0;
  for (const float value : x) all += double(value) * double(value);
  const Layout net = net_of({n});
  constexpr int steps = 3000;
  for (int step = 0; step < steps; ++step) {
    const Flags kept = kept_at(P{.fraction = .25}, net, static_cast<Step>(step));
    for (std::size_t i = 0; i < n; ++i) missed += kept[i] != 0 ? 0 : double(x[i]) * double(x[i]);
  }
  CHECK(missed / steps == Approx((1 - .25) * all).epsilon(.02));
}

TEST_CASE_TEMPLATE("without a memory the mean over steps is the gradient, if unbiased", P, RandomK,
                   RandomBlock) {
  for (const int ranks : {1, 2}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      const std::size_t sizes[] = {40, 24};
      Vector exact(64);
      for (int r = 0; r < ranks; ++r) {
        for (std::size_t i = 0; i < 64; ++i) {
          exact[i] += value_of<float>(r, i) / static_cast<float>(ranks);
        }
      }
      for (const Scope scope : {Scope::per_parameter, Scope::global}) {
        OnThreads<P, BitMask> reduce{backend, {.fraction = .25, .unbiased = true, .scope = scope}};
        std::vector<double> mean(64);
        constexpr int steps = 2000;
        for (int step = 0; step < steps; ++step) {
          Vector gradient = values_of<float>(rank, 64);
          const std::span<float> values(gradient);
          reduce(std::vector<Slice<float>>{{"a", values.first(sizes[0])},
                                           {"b", values.subspan(sizes[0])}});
          for (std::size_t i = 0; i < 64; ++i) {
            if (gradient[i] != 0) CHECK(gradient[i] == Approx(4 * exact[i]));
            mean[i] += double(gradient[i]) / steps;
          }
        }
        // Five deviations of a mean of draws that are 4 x or 0.
        for (std::size_t i = 0; i < 64; ++i) {
          CHECK(std::abs(mean[i] - double(exact[i])) <=
                5 * std::abs(double(exact[i])) * std::sqrt(3.0 / steps) + 1e-6);
        }
      }
    });
  }
}

TEST_CASE_TEMPLATE("gains reach every path that values take", P, RandomK, RandomBlock) {
  with_ranks(2, [](HostBackend& backend, int) {
    const P options{.fraction = .5, .unbiased = true};
    OnThreads<P, BitMask, Ternary> coded{
        backend, options, {}, {}, {.non_finite = NonFinite::propagate}};
    Vector gradient(8, 3.0f);
    CHECK(coded(gradient).path == Path::packed);
    for (const float x : gradient) CHECK((x == 0 || x == 6));
    bool carried = false;
    for (int step = 0; step < 8 && !carried; ++step) {
      gradient.assign(8, 3.0f);
      gradient[5] = infinity;
      carried = coded(gradient).path == Path::uncoded;
      for (std::size_t i = 0; i < 8; ++i) {
        if (i != 5 && carried) CHECK((gradient[i] == 0 || gradient[i] == 6));
      }
    }
    CHECK(carried);
    OnThreads<P, IndexMask> halves{backend, options};
    std::vector<float16> half(8, float16(3.0f));
    halves(half);
    for (const float16 x : half) CHECK((float(x) == 0 || float(x) == 6));
  });
}

TEST_CASE_TEMPLATE("an unbiased policy refuses a feedback", P, RandomK, RandomBlock) {
  with_ranks(1, [](HostBackend& backend, int) {
    using Reducer = OnThreads<P, BitMask, Identity, ErrorFeedback>;
    const std::string message = message_of<PreconditionError>(
        [&] { Reducer reduce(backend, P{.fraction = .5, .unbiased = true}); });
    CHECK(message.find("the policy is unbiased") != std::string::npos);
    CHECK(message.find("drop .unbiased, or take NoFeedback") != std::string::npos);
    CHECK(message_of<PreconditionError>([&] { Reducer reduce(backend, P{.fraction = .5}); }) ==
          "nothing");
    CHECK(message_of<PreconditionError>([&] {
            typename P::template on<HostExecutor> policy(P{});
          }).find("the fraction is 0.000000") != std::string::npos);
  });
}

TEST_CASE_TEMPLATE("everything kept is the dense mean; one entry is an entry", P, RandomK,
                   RandomBlock) {
  with_ranks(3, [](HostBackend& backend, int rank) {
    OnThreads<P, IndexMask> all{backend, {.fraction = 1, .unbiased = true}};
    Vector gradient = values_of<float>(rank, 100), one(1, static_cast<float>(rank));
    all(gradient);
    CHECK(same_bits(gradient, reduced_values<float>(3, 100, Mean{})));
    OnThreads<P, IndexMask> single{backend, {.fraction = .001}};
    CHECK(single(one).kept == 1);
    CHECK(one[0] == 1);
  });
}

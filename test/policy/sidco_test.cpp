// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SIDCo: the numbers of its fits, how near its thresholds come, and what becomes of bad ones.
#include <pipeline/support.hpp>
#include <suite/plain_executor.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/sidco.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <span>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;
using doctest::Approx;

/// A number of (0, 1) by its place.
double uniform_of(std::uint64_t i, std::uint64_t seed) {
  return (static_cast<double>(kernel::mix(i, seed) >> 11) + 0.5) * 0x1p-53;
}
double normal_of(std::uint64_t i, std::uint64_t seed) {
  return std::sqrt(-2 * std::log(uniform_of(i, seed))) *
         std::cos(2 * std::numbers::pi * uniform_of(i, seed + 1));
}

double laplace(std::uint64_t i, std::uint64_t seed) {
  return std::log(uniform_of(i, seed)) * (uniform_of(i, seed + 1) < 0.5 ? 1 : -1);
}
double half_normal(std::uint64_t i, std::uint64_t seed) { return std::abs(normal_of(i, seed)); }
double student_t3(std::uint64_t i, std::uint64_t seed) {
  double squares = 0;
  for (std::uint64_t j = 1; j <= 3; ++j) {
    const double x = normal_of(i, seed + 2 * j);
    squares += x * x;
  }
  return normal_of(i, seed) / std::sqrt(squares / 3);
}
double log_normal(std::uint64_t i, std::uint64_t seed) {
  return std::exp(1.5 * normal_of(i, seed));
}

Vector sample(double (*draw)(std::uint64_t, std::uint64_t), std::size_t n, std::uint64_t seed) {
  Vector values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(draw(i, 100 * seed));
  return values;
}

/// A policy on one executor, asked about vectors.
template <Executor E = HostExecutor>
struct Asked {
  explicit Asked(const SIDCo& options) : policy(options) {}
  Flags operator()(const Vector& values) {
    Net<float, E> net(exec, {values.size()}, values);
    return decided(exec, policy, net.model, net.whole());
  }
  double ratio(const Vector& values) {
    (*this)(values);
    return policy.quality().value_or(-1);
  }
  E exec;
  typename SIDCo::on<E> policy;
};

TailMoments moments_of(const std::vector<double>& excess) {
  kernel::Moments sums;
  for (const double x : excess) {
    sums.sum += x;
    sums.squares += x * x;
    sums.logs += kernel::natural_log(x);
    ++sums.count;
  }
  return TailMoments::of(sums);
}

const std::vector<double> example{.02, .05, .1, .15, .2, .3, .5, .9, 1.6, 4};

}  // namespace

TEST_CASE("worked: thresholds of each fit") {
  const TailMoments all = moments_of(example);
  CHECK(all.mean == Approx(.782));
  CHECK(all.variance == Approx(1.518907).epsilon(1e-6));
  CHECK(tail_quantile(Fit::exponential, all, .1) == Approx(1.80062).epsilon(1e-5));
  CHECK(tail_quantile(Fit::exponential, all, .25) == Approx(1.08408).epsilon(1e-5));
  CHECK(tail_quantile(Fit::generalised_pareto, all, .1) == Approx(1.816365).epsilon(1e-6));
  CHECK(tail_quantile(Fit::gamma_closed_form, all, .1) == Approx(2.510147).epsilon(1e-6));
  CHECK(tail_quantile(Fit::gamma, all, .1) == Approx(2.043948).epsilon(1e-6));
  CHECK(std::log(all.mean) - all.mean_log == Approx(1.040408).epsilon(1e-6));

  const double first = tail_quantile(Fit::exponential, all, .25);
  const TailMoments tail = moments_of({1.6 - first, 4 - first});
  CHECK(first + tail_quantile(Fit::exponential, tail, .4) == Approx(2.65636).epsilon(1e-5));
  CHECK(1.6 + 1.2 * std::log(1 / .4) == Approx(2.69955).epsilon(1e-5));  // from the minimum
}

TEST_CASE("worked: ten entries, each fit keeps the largest one") {
  Vector values(example.begin(), example.end());
  values[3] = -values[3];
  values[9] = -values[9];
  const Flags largest{0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  for (const Fit fit :
       {Fit::exponential, Fit::generalised_pareto, Fit::gamma, Fit::gamma_closed_form}) {
    for (const std::size_t stages : {1u, 2u}) {
      Asked asked({.fraction = .1, .fit = fit, .stages = stages, .cap = 1e9});
      CHECK(asked(values) == largest);
      CHECK(asked.policy.quality() == 1.0);
    }
  }
}

TEST_CASE("the generalised Pareto fit becomes the exponential one, without a jump") {
  for (const double off : {-1e-3, -1e-9, -1e-14, 0.0, 1e-14, 1e-9, 1e-3}) {
    const TailMoments near{2, 4 * (1 + off), 0};
    CHECK(tail_quantile(Fit::generalised_pareto, near, .01) ==
          Approx(2 * std::log(100)).epsilon(1e-13 + 3 * std::abs(off)));
  }
}

TEST_CASE("the logarithm is the logarithm") {
  for (int i = 0; i < 20000; ++i) {
    const double x = std::ldexp(1 + uniform_of(static_cast<std::uint64_t>(i), 3), i % 400 - 200);
    CHECK(std::abs(kernel::natural_log(x) - std::log(x)) <=
          4e-16 * std::max(1.0, std::abs(std::log(x))));
  }
  CHECK(detail::log_gamma(0.5) == Approx(std::lgamma(0.5)).epsilon(1e-12));
  CHECK(detail::log_gamma(7.25) == Approx(std::lgamma(7.25)).epsilon(1e-12));
}

TEST_CASE("Laplace magnitudes are met by the exponential fit, with any number of stages") {
  const Vector values = sample(laplace, 100000, 1);
  for (const std::size_t stages : {1u, 2u, 3u, 4u}) {
    Asked asked({.fraction = .01, .fit = Fit::exponential, .stages = stages});
    const double ratio = asked.ratio(values);
    CHECK(ratio >= .95);
    CHECK(ratio <= 1.05);
  }
}

TEST_CASE("thresholds come within a fifth of the target, whatever the tail") {
  double (*const draws[])(std::uint64_t, std::uint64_t) = {laplace, half_normal, student_t3,
                                                           log_normal};
  for (std::size_t which = 0; which < 4; ++which) {
    std::vector<Vector> samples;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      samples.push_back(sample(draws[which], 40000, seed));
    }
    for (const double fraction : {.01, .002}) {
      for (const Fit fit : {Fit::generalised_pareto, Fit::exponential}) {
        for (const std::size_t stages : {1u, 2u, 9u}) {
          // No number of exponential stages meets the heaviest tail at the smallest share.
          if (which == 3 && fraction < .01 && fit == Fit::exponential) continue;
          CAPTURE(which);
          CAPTURE(fraction);
          CAPTURE(int(fit));
          CAPTURE(stages);
          Asked asked({.fraction = fraction, .fit = fit, .stages = stages});
          double sum = 0;
          for (int call = 0; call < 60; ++call) {
            const double ratio = asked.ratio(samples[static_cast<std::size_t>(call) % 5]);
            if (call >= 50) sum += ratio;
          }
          CHECK(sum / 10 >= .8);
          CHECK(sum / 10 <= 1.2);
        }
      }
    }
  }
}

TEST_CASE("a heavy tail does not pin the number of stages at one") {
  const Vector values = sample(log_normal, 40000, 9);
  Asked asked({.fraction = .002, .fit = Fit::exponential, .stages = 1, .cap = 1e9});
  const double at_first = asked.ratio(values);
  CHECK(at_first > 10);
  double last = at_first;
  for (int call = 0; call < 30; ++call) last = asked.ratio(values);
  CHECK(last < 2);
}

TEST_CASE("the number of stages stays in its range, turns where it is pinned, and rests") {
  for (const std::size_t most : {1u, 2u, 7u}) {
    StageAdaptation adaptation(4);
    std::size_t least_seen = 9, most_seen = 0;
    for (int call = 0; call < 200; ++call) {  // never better, never worse
      adaptation.see(3, 2, .2, most);
      least_seen = std::min(least_seen, adaptation.stages(most));
      most_seen = std::max(most_seen, adaptation.stages(most));
    }
    CHECK(least_seen == 1);
    CHECK(most_seen == most);
    const std::size_t now = adaptation.stages(most);
    for (int call = 0; call < 20; ++call) adaptation.see(call % 2 == 0 ? .9 : 1.2, 2, .2, most);
    CHECK(adaptation.stages(most) == now);
  }
}

TEST_CASE("parts adapt by themselves, or together") {
  HostExecutor exec;
  const std::size_t n = 20000;
  Vector values = sample(log_normal, n, 3);
  const Vector light = sample(half_normal, n, 4);
  values.insert(values.end(), light.begin(), light.end());
  const Net<float, HostExecutor> net(exec, {n, n}, values);
  for (const Scope scope : {Scope::per_parameter, Scope::global}) {
    SIDCo::on<HostExecutor> policy(SIDCo{.fraction = .01, .scope = scope});
    Flags kept;
    for (int call = 0; call < 60; ++call) kept = decided(exec, policy, net.model, net.whole());
    const auto heavy_kept = static_cast<double>(std::count(kept.begin(), kept.begin() + n, 1));
    const auto light_kept = static_cast<double>(count(kept)) - heavy_kept;
    CAPTURE(heavy_kept);
    CAPTURE(light_kept);
    if (scope == Scope::per_parameter) {
      for (const double kept_of_part : {heavy_kept, light_kept}) {
        CHECK(kept_of_part >= .8 * 200);
        CHECK(kept_of_part <= 1.2 * 200);
      }
    } else {
      CHECK(heavy_kept + light_kept >= .8 * 400);
      CHECK(heavy_kept + light_kept <= 1.2 * 400);
      CHECK(light_kept < .1 * heavy_kept);  // one threshold for both
    }
  }
}

TEST_CASE_TEMPLATE("the set does not depend on cuts, scale or executor", E, HostExecutor,
                   PlainExecutor) {
  E exec;
  HostExecutor host;
  const std::vector<std::size_t> sizes{5000, 0, 7, 2048, 1, 4097};
  for_gradient_types([&]<class T>() {
    std::vector<T> values, scaled;
    for (std::size_t i = 0; i < 11153; ++i) values.push_back(to<T>(student_t3(i, 5)));
    for (const T x : values) scaled.push_back(to<T>(double(arithmetic_t<T>(x)) * 0.25));
    const Net<T, E> net(exec, sizes, values), quarter(exec, sizes, scaled);
    const Net<T, HostExecutor> oracle(host, sizes, values);
    for (const Scope scope : {Scope::per_parameter, Scope::global}) {
      for (const Fit fit : {Fit::exponential, Fit::generalised_pareto, Fit::gamma}) {
        const SIDCo options{
            .fraction = .02, .fit = fit, .stages = 3, .scope = scope, .exempt = {"p2"}};
        const Flags whole = decided(exec, options, net.model, net.whole());
        CHECK(decided(exec, options, net.model, net.shredded(3)) == whole);
        CHECK(decided(host, options, oracle.model, oracle.whole()) == whole);
        if (sizeof(T) > 2) {  // halves become subnormal
          CHECK(decided(exec, options, quarter.model, quarter.shredded(4)) == whole);
        }
        for (std::size_t i = 5000; i < 5007; ++i) CHECK(whole[i] == 1);
        CHECK(count(whole) < 11153 / 10);
      }
    }
  });
}

TEST_CASE("degenerate gradients") {
  for (const Fit fit :
       {Fit::exponential, Fit::generalised_pareto, Fit::gamma, Fit::gamma_closed_form}) {
    for (const std::size_t stages : {1u, 3u}) {
      const SIDCo options{.fraction = .1, .fit = fit, .stages = stages};
      Asked asked(options);
      CHECK(count(asked(Vector(50))) == 0);  // zeros are not worth sending
      CHECK(!asked.policy.quality());
      CHECK(count(asked({})) == 0);
      CHECK(asked({-3}) == Flags{1});
      CHECK(asked({0, 0, 7, 0}) == Flags{0, 0, 1, 0});

      Flags first_ten(100);  // equal magnitudes: no tail to fit, exactly as many as wanted
      std::fill_n(first_ten.begin(), 10, std::uint8_t{1});
      CHECK(asked(Vector(100, -2.5f)) == first_ten);

      Vector values = sample(laplace, 1000, 2);
      values[77] = not_a_number;
      values[78] = -infinity;
      const Flags kept = asked(values);
      CHECK(kept[77] == 1);
      CHECK(kept[78] == 1);
      CHECK(count(kept) <= 4 * 100 + 2);
    }
  }
}

TEST_CASE("a bad fit never costs bytes") {
  const Vector values = sample(log_normal, 40000, 9);
  const SIDCo bad{.fraction = .002, .fit = Fit::exponential, .stages = 1, .adapt = false};
  Asked asked(bad);
  const Flags kept = asked(values);
  CHECK(asked.policy.quality().value() > 4);  // told as it is
  Flags exact(40000);
  keep_by_sort(values, 0, 40000, 80, exact);
  CHECK(kept == exact);
  SIDCo uncapped = bad;
  uncapped.cap = 1000;
  CHECK(count(Asked(uncapped)(values)) > 320);

  const Vector light = sample(half_normal, 40000, 9);  // and none at all is no better
  SIDCo few = bad;
  few.fraction = .0005;
  Asked seldom(few);
  CHECK(count(seldom(light)) == 20);
  CHECK(seldom.policy.quality().value() < .25);
}

TEST_CASE("what is kept and what waits are the gradient, and the report tells the estimate") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    OnThreads<SIDCo, BitMask, Identity, ErrorFeedback> reduce{
        backend, {.fraction = .05, .window = 2}, {}, {}, {.reduction = Reduction::sum}};
    Vector sent(4000), given(4000);
    const auto seed = [](int of, Step step) { return static_cast<std::uint64_t>(of) + 7 * step; };
    for (Step step = 0; step < 6; ++step) {
      Vector gradient = sample(student_t3, 4000, seed(rank, step));
      for (int each = 0; each < 2; ++each) {
        const Vector theirs = sample(student_t3, 4000, seed(each, step));
        for (std::size_t i = 0; i < 4000; ++i) given[i] += theirs[i];
      }
      const Report report = reduce(gradient);
      REQUIRE(report.quality);
      CHECK(*report.quality > .25);
      CHECK(report.kept < 2 * 4 * 200);
      for (std::size_t i = 0; i < 4000; ++i) sent[i] += gradient[i];
    }
    Vector residual = reducer::residual_in<float>(saved(reduce), 4000);
    auto buffer = residual;
    all_reduce(backend.executor(), backend.communicator(), std::span<float>(buffer), Sum{});
    for (std::size_t i = 0; i < 4000; ++i) {
      CHECK(sent[i] + buffer[i] == Approx(given[i]).epsilon(1e-4));
    }
  });
}

TEST_CASE("a refused step changes no number of stages, and a saved one goes on") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    using Reducer = OnThreads<SIDCo, BitMask>;
    const SIDCo options{.fraction = .002, .fit = Fit::exponential, .stages = 1, .window = 2};
    Reducer reduce{backend, options}, steady{backend, options};
    for (std::uint64_t step = 0; step < 9; ++step) {
      const Vector values = sample(log_normal, 5000, step);
      Vector gradient = values;
      const std::string before = saved(reduce);
      if (step > 0) {  // one rank's call is of another type: it decides nothing, the others do
        std::vector<double> wrong(5000, 1.0);
        if (rank == 0) CHECK_THROWS_AS(reduce(wrong), PreconditionError);
        else CHECK_THROWS_AS(reduce(gradient), PreconditionError);
        CHECK(saved(reduce) == before);
      }
      gradient = values;
      gradient[17] = rank == 1 ? infinity : 0;
      CHECK_THROWS_AS(reduce(gradient), StepRejected);
      if (step > 0) CHECK(saved(reduce) == before);
      Reducer loaded{backend, options};
      restore(loaded, saved(steady));
      gradient = values;
      reduce(gradient);
      Vector other = values, third = values;
      steady(other);
      loaded(third);
      CHECK(other == gradient);
      CHECK(third == gradient);
      CHECK(saved(steady) == saved(reduce));
    }
  });
}

TEST_CASE("options are checked") {
  const auto refusal = [](const SIDCo& options) {
    return message_of<PreconditionError>([&] { SIDCo::on<HostExecutor> policy(options); });
  };
  const auto says = [&](const SIDCo& options, const std::string& words) {
    CHECK(refusal(options).find(words) != std::string::npos);
  };
  says({}, "the fraction is 0.000000 (it is the share of entries that is kept)");
  says({.fraction = 1.5}, "choose one in (0, 1]");
  says({.fraction = .1, .stages = 0}, "the stages are 0");
  says({.fraction = .1, .window = 0}, "the window is 0 calls");
  says({.fraction = .1, .tolerance = -1}, "the tolerance is -1.000000; choose one in [0, 1)");
  says({.fraction = .1, .first_stage = 1}, "the first stage's share is 1.000000");
  says({.fraction = .1, .cap = .5}, "the cap is 0.500000");
  CHECK(refusal({.fraction = 1}) == "nothing");
  CHECK(SIDCo{.fraction = .001}.most_stages() == 10);
  CHECK(SIDCo{.fraction = 1}.most_stages() == 1);
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SampledTopK: where its threshold comes from, and what becomes of one that is off.
#include <suite/plain_executor.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/host/executor.hpp>
#include <pactrain/policy/sampled_top_k.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using doctest::Approx;

namespace {

/// Of 10000 entries and a fraction of 0.01, 204 are sampled, every 49th.
constexpr std::size_t n = 10000, k = 100, stride = 49, sampled = 204;
std::size_t start_of(Step step) {
  return random_words({kernel::mix(0, 's'), step}, 0, 0)[0] % stride;
}

/// The answer for values in one part, whole and shredded, on two executors, which must be one.
template <GradientValue T>
Flags kept_of_values(const std::vector<T>& values, const SampledTopK& options, Step step,
                     double quality) {
  HostExecutor host;
  PlainExecutor plain;
  const Net<T, HostExecutor> net(host, {values.size()}, values);
  const Net<T, PlainExecutor> other(plain, {values.size()}, values);
  SampledTopK::on<HostExecutor> policy(options);
  const Flags whole = decided(host, policy, net.model, net.whole(), step);
  CHECK(policy.quality().value_or(-1) == Approx(quality));
  CHECK(decided(host, options, net.model, net.shredded(step), step) == whole);
  CHECK(decided(plain, options, other.model, other.shredded(step + 1), step) == whole);
  return whole;
}

}  // namespace

TEST_CASE("a threshold from the sample: too high, right, too low") {
  const SampledTopK options{.fraction = 0.01};
  for (const Step step : {0u, 1u, 5u}) {
    for_gradient_types([&]<class T>() {
      const std::size_t start = start_of(step);
      const auto is_sampled = [&](std::size_t i) { return i % stride == start; };
      // `large` unsampled entries of 7; the sample's three largest are 10, so the first threshold.
      const auto values_with = [&](std::size_t large) {
        std::vector<T> values(n, to<T>(0.125));
        for (std::size_t i = 0; i < 3; ++i) values[start + (40 * i + 7) * stride] = to<T>(-10);
        for (std::size_t i = 50; large > 0; i += 3) {
          if (is_sampled(i)) continue;
          values[i] = to<T>(large % 2 != 0 ? 7 : -7);
          --large;
        }
        return values;
      };
      const auto large = [&](const std::vector<T>& values, std::size_t most) {
        Flags flags(n);
        for (std::size_t i = 0; i < n; ++i) {
          if (most > 0 && magnitude(values[i]) >= magnitude(to<T>(7))) {
            flags[i] = 1;
            --most;
          }
        }
        return flags;
      };
      // Lowered twice, to 6.4: all that then pass are kept, though they are fewer than wanted.
      auto values = values_with(90);
      CHECK(kept_of_values(values, options, step, .93) == large(values, 93));
      // More than wanted, but not by much: the first ones.
      values = values_with(120);
      CHECK(kept_of_values(values, options, step, 1.23) == large(values, k));
      // Far too many: exactly the largest, the ones of 10 among them wherever they are.
      values = values_with(400);
      Flags exact(n);
      keep_by_sort(values, 0, n, k, exact);
      CHECK(kept_of_values(values, options, step, 4.03) == exact);
      CHECK(exact != large(values, k));
      // No lowering: the three.
      values = values_with(90);
      SampledTopK never = options;
      never.rounds = 0;
      CHECK(count(kept_of_values(values, never, step, .03)) == 3);
    });
  }
}

TEST_CASE("sampled entries are all that a first threshold knows") {
  std::vector<float> values(n, 1.0f);
  for (std::size_t i = start_of(3); i < n; i += stride) values[i] = 2;
  CHECK(count(kept_of_values(values, {.fraction = .01}, 3, double(sampled) / k)) == k);
  CHECK(start_of(3) != start_of(4));
  // In another step others are sampled, so 2 is not the threshold but 1, or 2 by a few.
  HostExecutor exec;
  const Net<float, HostExecutor> net(exec, {n}, values);
  SampledTopK::on<HostExecutor> policy(SampledTopK{.fraction = .01});
  CHECK(count(decided(exec, policy, net.model, net.whole(), 4)) == k);
  CHECK(policy.quality().value() == Approx(double(n) / k));
}

TEST_CASE("whatever the values: at most k, and on the average not many fewer") {
  HostExecutor exec;
  const std::vector<std::size_t> sizes{20000, 1, 0, 300, 5000};
  double sum = 0;
  for (Step step = 0; step < 20; ++step) {
    const auto values = values_of<float>(static_cast<int>(step), 25301);
    const Net<float, HostExecutor> net(exec, sizes, values);
    const Flags kept =
        decided(exec, SampledTopK{.fraction = .02}, net.model, net.shredded(2), step);
    for (const Part& part : net.model.parts()) {
      const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(part.first);
      const Flags of_part(begin, begin + static_cast<std::ptrdiff_t>(part.size));
      CHECK(count(of_part) <= pactrain::kept_of(part.size, .02));
      CHECK(count(of_part) >= pactrain::kept_of(part.size, .02) / 2);
    }
    sum += static_cast<double>(count(kept));
  }
  CHECK(sum / 20 >= .9 * (400 + 1 + 6 + 100));
}

TEST_CASE("degenerate gradients") {
  const SampledTopK options{.fraction = .1};
  CHECK(count(kept_of_values(std::vector<float>(50), options, 0, 10)) == 5);  // as TopK: the first
  CHECK(count(kept_of_values(std::vector<float>{}, options, 0, -1)) == 0);
  CHECK(kept_of_values(std::vector<float>{0}, options, 0, -1) == Flags{1});
  std::vector<float> wild(200, 1.0f);
  wild[7] = std::numeric_limits<float>::quiet_NaN();
  wild[8] = std::numeric_limits<float>::infinity();
  HostExecutor exec;
  const Net<float, HostExecutor> net(exec, {200}, wild);
  const Flags kept = decided(exec, options, net.model, net.whole());
  CHECK(kept[7] + kept[8] == 2);
  CHECK(count(kept) == 20);
  const auto whole =
      decided(exec, SampledTopK{.fraction = .1, .exempt = {"p0"}}, net.model, net.whole());
  CHECK(count(whole) == 200);
}

TEST_CASE("worked: the warm-up of the paper and that of the code") {
  const SampledTopK paper{
      .fraction = .001, .warm_up = {.25, .0625, .015625, .004}, .warm_up_steps = 10};
  CHECK(paper.fraction_at(0) == .25);
  CHECK(paper.fraction_at(9) == .25);
  CHECK(paper.fraction_at(10) == .0625);
  CHECK(paper.fraction_at(39) == .004);
  CHECK(paper.fraction_at(40) == .001);
  const auto code = SampledTopK::falling(.001, 5);
  const double expected[] = {.3162, .1, .0316, .01, .0032};
  REQUIRE(code.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(code[i] == Approx(expected[i]).epsilon(.012));
  HostExecutor exec;
  const Net<float, HostExecutor> net(exec, {4000}, values_of<float>(1, 4000));
  SampledTopK::on<HostExecutor> policy(paper);
  for (const Step step : {0u, 15u, 45u}) {
    const auto wanted = static_cast<double>(pactrain::kept_of(4000, paper.fraction_at(step)));
    const auto kept =
        static_cast<double>(count(decided(exec, policy, net.model, net.whole(), step)));
    CHECK(kept <= wanted);
    CHECK(kept >= .5 * wanted);
  }
}

TEST_CASE("options are checked") {
  const auto says = [](const SampledTopK& options, const std::string& words) {
    const std::string text =
        message_of<PreconditionError>([&] { SampledTopK::on<HostExecutor> policy(options); });
    CAPTURE(text);
    CHECK(text.find(words) != std::string::npos);
  };
  says({}, "the fraction is 0.000000");
  says({.fraction = .1, .sample = 0}, "the sample is 0.000000");
  says({.fraction = .1, .lower = 1.1}, "the bounds are 1.100000 and 1.300000");
  says({.fraction = .1, .upper = .9}, "the bounds are 0.800000 and 0.900000");
  says({.fraction = .1, .warm_up = {2}, .warm_up_steps = 1}, "the fraction is 2.000000");
  says({.fraction = .1, .warm_up = {.5}}, "used for 0 steps each");
  says({.fraction = .1, .warm_up = {.5}, .warm_up_steps = 1}, "nothing");
}

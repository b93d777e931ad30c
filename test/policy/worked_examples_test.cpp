// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/plain_executor.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/host/executor.hpp>
#include <pactrain/policy/block_magnitude.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/policy/n_of_m.hpp>
#include <pactrain/policy/non_zero.hpp>
#include <pactrain/policy/one_shot_magnitude.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/random_pruning.hpp>
#include <pactrain/policy/threshold.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/united.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <limits>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// What options keep of one part.
template <class P>
Flags kept(const P& options, const std::vector<float>& x, Step step = 0) {
  HostExecutor exec;
  const Net<float, HostExecutor> net(exec, {x.size()}, x);
  const Flags flags = decided(exec, options, net.model, net.shredded(x.size()), step);
  PlainExecutor plain;
  const Net<float, PlainExecutor> same(plain, {x.size()}, x);
  CHECK(decided(plain, options, same.model, same.whole(), step) == flags);
  return flags;
}

TEST_CASE("the cubic schedule of Zhu and Gupta") {
  const std::vector<float> weights(1000, 1.0f);
  const GradualMagnitude options{
      .weights = weights, .final_sparsity = 0.9, .end = 100, .every = 25};
  CHECK(options.sparsity_at(0) == 0);
  CHECK(options.sparsity_at(25) == doctest::Approx(0.5203).epsilon(1e-4));
  CHECK(options.sparsity_at(50) == doctest::Approx(0.7875));
  CHECK(options.sparsity_at(75) == doctest::Approx(0.8859).epsilon(1e-4));
  CHECK(options.sparsity_at(100) == 0.9);
  CHECK(options.sparsity_at(5000) == 0.9);
  CHECK(count(kept(options, weights, 0)) == 1000);
  CHECK(count(kept(options, weights, 24)) == 1000);
  CHECK(count(kept(options, weights, 25)) == 1000 - 520);
  CHECK(count(kept(options, weights, 60)) == 1000 - 787);
  CHECK(count(kept(options, weights, 75)) == 1000 - 885);
  CHECK(count(kept(options, weights, 100)) == 100);
  CHECK(count(kept(options, weights, 1000)) == 100);
}

TEST_CASE("the revision changes where a decision falls, and nowhere else") {
  const std::vector<float> weights(10);
  const GradualMagnitude::on<HostExecutor> policy(GradualMagnitude{
      .weights = weights, .final_sparsity = 0.5, .begin = 10, .end = 25, .every = 10});
  std::vector<Step> changes;
  for (Step step = 1; step < 100; ++step) {
    if (policy.revision(step) != policy.revision(step - 1)) changes.push_back(step);
  }
  CHECK(changes == std::vector<Step>{10, 20, 25});
  const OneShotMagnitude::on<HostExecutor> once({.weights = weights, .step = 3});
  CHECK(once.revision(0) == once.revision(2));
  CHECK(once.revision(2) != once.revision(3));
  CHECK(once.revision(3) == once.revision(1000));
}

TEST_CASE("everything is kept before the first decision") {
  const std::vector<float> weights{1, 2, 3, 4};
  CHECK(kept(OneShotMagnitude{.weights = weights, .sparsity = 0.5, .step = 5}, weights, 4) ==
        Flags{1, 1, 1, 1});
  CHECK(kept(OneShotMagnitude{.weights = weights, .sparsity = 0.5, .step = 5}, weights, 5) ==
        Flags{0, 0, 1, 1});
  const GradualMagnitude gradual{.weights = weights, .final_sparsity = 0.5, .begin = 5, .end = 5};
  CHECK(kept(gradual, weights, 4) == Flags{1, 1, 1, 1});
  CHECK(kept(gradual, weights, 5) == Flags{0, 0, 1, 1});
}

TEST_CASE("2 of 4: ties to the lowest index, short groups at the end") {
  const auto two = [](const std::vector<float>& x) { return kept(NofM<2, 4>{.weights = x}, x); };
  CHECK(two({1, -3, 2, 0.5f}) == Flags{0, 1, 1, 0});
  CHECK(two({7, -7, 7, 7}) == Flags{1, 1, 0, 0});
  CHECK(two({0, 0, 0, 0, 1}) == Flags{1, 1, 0, 0, 1});
  CHECK(two({1, 2, 3, 4, 1, 3, 2}) == Flags{0, 0, 1, 1, 0, 1, 1});
  CHECK(two({}).empty());
}

TEST_CASE("top k: the cases of the pitfalls") {
  CHECK(kept(TopK{.k = 2}, {2, -2, 2, 1}) == Flags{1, 1, 0, 0});
  CHECK(kept(TopK{.k = 1}, {0.1f, 0.2f, 0.9f, 0.3f}) == Flags{0, 0, 1, 0});
  CHECK(kept(TopK{.k = 1}, {5, 4, 5, 1, 2}) == Flags{1, 0, 0, 0, 0});
  CHECK(kept(TopK{.fraction = 0.5}, {}).empty());
  CHECK(kept(TopK{.fraction = 0.001}, {1, 2, 3}) == Flags{0, 0, 1});
  CHECK(kept(TopK{.k = 7}, {1, 0, 3}) == Flags{1, 1, 1});
  CHECK(kept(TopK{.fraction = 1}, {1, 0, 3}) == Flags{1, 1, 1});
  CHECK(kept(TopK{.k = 2}, {0, 0, 0, 0}) == Flags{1, 1, 0, 0});
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(kept(TopK{.k = 2}, {1, nan, infinity, 3}) == Flags{0, 1, 1, 0});
  CHECK(kept(TopK{.k = 1}, {1, infinity, nan, 3}) == Flags{0, 0, 1, 0});
  static_assert(std::same_as<United<TopK>, TopK>);
}

TEST_CASE("a threshold is held against magnitudes, and includes equality") {
  CHECK(kept(Threshold{.value = 2}, {-3, -1}) == Flags{1, 0});
  CHECK(kept(Threshold{.value = 2}, {2, -2, 1.9999999f, 0}) == Flags{1, 1, 0, 0});
  CHECK(kept(Threshold{.value = 0}, {0, -0.0f, 1}) == Flags{1, 1, 1});
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(kept(Threshold{.value = 1e300}, {nan, 1}) == Flags{1, 0});
  CHECK(kept(NonZero{}, {0, -0.0f, 1e-45f, nan, -3}) == Flags{0, 0, 1, 1, 1});
}

TEST_CASE("the user's mask") {
  const std::vector<float> x(5);
  const Flags flags{1, 0, 0, 1, 1};
  CHECK(kept(Pruned::from_flags(flags), x) == flags);
  CHECK(kept(Pruned::from_flags(std::vector<bool>{true, false, false, true, true}), x) == flags);
  CHECK(kept(Pruned::from_indices(5, std::vector<int>{0, 3, 4}), x) == flags);
  CHECK(kept(Pruned::from_indices(5, std::vector<int>{}), x) == Flags(5, 0));
  CHECK(kept(Pruned::from_flags(Flags{}), {}).empty());
  CHECK(Pruned::from_flags(flags).fingerprint() ==
        Pruned::from_indices(5, std::vector<std::size_t>{0, 3, 4}).fingerprint());
  CHECK(kept(KeepAll{}, x) == Flags(5, 1));
}

TEST_CASE("blocks are measured by their own length") {
  const std::vector<float> x{1, 1, 3, -3, 2, 2, 2.5f};
  CHECK(kept(BlockMagnitude<2>{.weights = x, .sparsity = 0.5}, x) == Flags{0, 0, 1, 1, 0, 0, 1});
  const std::vector<float> ties(7, -4.0f);
  CHECK(kept(BlockMagnitude<2>{.weights = ties, .sparsity = 0.5}, ties) ==
        Flags{1, 1, 1, 1, 0, 0, 0});
}

TEST_CASE("per parameter each keeps its share, globally the largest win") {
  HostExecutor exec;
  const Net<float, HostExecutor> net(exec, {2, 2}, {1, 2, 10, 20});
  OneShotMagnitude options{.weights = net.weights, .sparsity = 0.5};
  CHECK(decided(exec, options, net.model, net.places()) == Flags{0, 1, 0, 1});
  options.scope = Scope::global;
  CHECK(decided(exec, options, net.model, net.places()) == Flags{0, 0, 1, 1});
}

TEST_CASE("random sets depend on seed and parameter, and on nothing else") {
  HostExecutor exec;
  const std::vector<float> values(3000);
  const Net<float, HostExecutor> two(exec, {1000, 2000}, values), three(exec, {1000, 1000}, values);
  const auto set = [&](const auto& net, std::uint64_t seed, std::size_t part) {
    const Flags flags =
        decided(exec, RandomPruning{.sparsity = 0.5, .seed = seed}, net.model, net.places());
    const auto begin = flags.begin() + static_cast<std::ptrdiff_t>(net.model.parts()[part].first);
    return Flags(begin, begin + 1000);
  };
  CHECK(set(two, 1, 0) == set(three, 1, 0));
  CHECK(set(two, 1, 0) != set(two, 2, 0));
  CHECK(set(three, 1, 0) != set(three, 1, 1));
}

TEST_CASE("fractions count as on paper") {
  CHECK(fraction_of(10, 0.9) == 9);
  CHECK(fraction_of(10, 0.1 + 0.2) == 3);
  CHECK(fraction_of(10, 1 - 0.9) == 1);
  CHECK(fraction_of(100, 0.29) == 29);
  CHECK(fraction_of(3, 0.999) == 2);
  CHECK(fraction_of(1, 0.999) == 0);
  CHECK(fraction_of(0, 0.5) == 0);
  CHECK(fraction_of(7, 1) == 7);
  CHECK(fraction_of(1000000007, 0.7) == 700000004);
}

}  // namespace

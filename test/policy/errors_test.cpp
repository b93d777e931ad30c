// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/policy_support.hpp>

#include <pactrain/host/executor.hpp>
#include <pactrain/policy/block_magnitude.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/n_of_m.hpp>
#include <pactrain/policy/one_shot_magnitude.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/random_pruning.hpp>
#include <pactrain/policy/threshold.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/track_zeros.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

std::vector<float> weights(10, 1.0f);

/// The message with which options are refused.
template <class P>
std::string refusal(const P& options) {
  return message_of<PreconditionError>(
      [&] { typename P::template on<HostExecutor> policy(options); });
}

/// The message with which a model of these parts is refused.
template <class P>
std::string refusal(const P& options, const std::vector<std::size_t>& sizes) {
  HostExecutor exec;
  std::vector<float> values(sizes[0] + (sizes.size() > 1 ? sizes[1] : 0));
  const Net<float, HostExecutor> net(exec, sizes, values);
  return message_of<PreconditionError>(
      [&] { static_cast<void>(decided(exec, options, net.model, net.whole())); });
}

bool says(const std::string& message, const std::string& words) {
  CAPTURE(message);
  const bool found = message.find(words) != std::string::npos;
  CHECK(found);
  return found;
}

TEST_CASE("sparsities lie in [0, 1)") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double sparsity : {-0.1, 1.0, 1.5, nan}) {
    const std::string words = "sparsity is " + std::to_string(sparsity) +
                              " (it is the share of entries that is pruned); choose one in [0, 1)";
    says(refusal(OneShotMagnitude{.weights = weights, .sparsity = sparsity}), "the " + words);
    says(refusal(GradualMagnitude{.weights = weights, .final_sparsity = sparsity}),
         "the final " + words);
    says(refusal(GradualMagnitude{.weights = weights, .initial_sparsity = sparsity}),
         "the initial " + words);
    says(refusal(RandomPruning{.sparsity = sparsity}), "the " + words);
    says(refusal(BlockMagnitude<4>{.weights = weights, .sparsity = sparsity}), "the " + words);
  }
}

TEST_CASE("schedules end after they begin, and do not fall") {
  says(refusal(GradualMagnitude{.weights = weights, .begin = 10, .end = 9}),
       "the schedule ends at step 9 before it begins at step 10; choose an end that is not before");
  says(
      refusal(GradualMagnitude{.weights = weights, .initial_sparsity = 0.5, .final_sparsity = 0.4}),
      "the sparsity falls from 0.500000 to 0.400000 (what is pruned stays pruned)");
  says(refusal(GradualMagnitude{.weights = weights, .every = 0}), "every 0 steps");
  CHECK(refusal(GradualMagnitude{.weights = weights, .begin = 9, .end = 9}) == "nothing");
}

TEST_CASE("rankings need weights of the right layout") {
  const std::string none = "the policy has no weights (they are what it ranks); pass the model's";
  says(refusal(OneShotMagnitude{}), none);
  says(refusal(GradualMagnitude{}), none);
  says(refusal(NofM<2, 4>{}), none);
  says(refusal(BlockMagnitude<4>{}), none);
  const std::string longer = "the weights of 'p0' have 10 entries but its gradient has 11 (entries";
  const std::string more = "the weights have 1 parts but the gradient has 2 (entries are kept by";
  says(refusal(OneShotMagnitude{.weights = weights}, {11}), longer);
  says(refusal(GradualMagnitude{.weights = weights, .begin = 5, .end = 5}, {11}), longer);
  says(refusal(NofM<2, 4>{.weights = weights}, {11}), longer);
  says(refusal(BlockMagnitude<4>{.weights = weights}, {11}), longer);
  says(refusal(OneShotMagnitude{.weights = weights}, {5, 5}), more);
  says(refusal(Pruned::from_flags(std::vector<bool>(9)), {10}),
       "the mask has 9 entries but the gradient has 10 (Pruned keeps by position); pass a mask of");
}

TEST_CASE("exempt names exist") {
  const std::string words =
      "no part is called 'bias' (exempt names parts that are kept whole); there are ";
  const std::vector<std::string> bias{"bias"};
  says(refusal(OneShotMagnitude{.weights = weights, .exempt = bias}), words + "'parameter 0'");
  says(refusal(GradualMagnitude{.weights = weights, .exempt = bias}), words);
  says(refusal(NofM<2, 4>{.weights = weights, .exempt = bias}), words);
  says(refusal(BlockMagnitude<4>{.weights = weights, .exempt = bias}), words);
  says(refusal(RandomPruning{.weights = weights, .exempt = bias}), words);
  says(refusal(RandomPruning{.exempt = bias}, {5, 5}), words + "'p0', 'p1'");
  says(refusal(TopK{.k = 1, .exempt = bias}, {5, 5}), words + "'p0', 'p1'");
  says(refusal(Threshold{.exempt = bias}, {5, 5}), words + "'p0', 'p1'");
}

TEST_CASE("what is kept of a gradient is something") {
  says(refusal(TopK{}), "TopK needs either a fraction or a k; write {.fraction = 0.01} or");
  says(refusal(TopK{.fraction = 0.5, .k = 1}), "TopK needs either a fraction or a k");
  says(refusal(TopK{.k = 0}), "k is 0 (nothing would ever be sent); choose k >= 1");
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double fraction : {0.0, -0.5, 1.1, nan}) {
    says(refusal(TopK{.fraction = fraction}),
         "the fraction is " + std::to_string(fraction) +
             " (it is the share of entries that is kept); choose one in (0, 1]");
  }
  for (const double value : {-1.0, nan, std::numeric_limits<double>::infinity()}) {
    says(refusal(Threshold{.value = value}),
         "the threshold is " + std::to_string(value) + " (magnitudes are held against it)");
  }
  says(refusal(TrackZeros{.patience = 0}), "the patience is 0 (one observation proves nothing)");
}

TEST_CASE("kept indices ascend, once each, below n") {
  const auto indices = [](const std::vector<int>& list) {
    return message_of<PreconditionError>([&] { static_cast<void>(Pruned::from_indices(5, list)); });
  };
  says(indices({0, 3, 2}), "index 2 comes after 3 (kept indices ascend); sort them and drop");
  says(indices({0, 3, 3}), "index 3 comes twice (kept indices ascend); sort them and drop");
  says(indices({0, 5}), "index 5 is not one of 5 entries; kept indices lie in [0, 5)");
  says(indices({-1}), "index -1 is not one of 5 entries; kept indices lie in [0, 5)");
  CHECK(indices({0, 4}) == "nothing");
}

}  // namespace

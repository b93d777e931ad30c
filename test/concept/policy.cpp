// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <concept/every_nth.hpp>
#include <suite/plain_executor.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/host/executor.hpp>
#include <pactrain/policy/block_magnitude.hpp>
#include <pactrain/policy/by_score.hpp>
#include <pactrain/policy/cyclic_top_k.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/policy/n_of_m.hpp>
#include <pactrain/policy/non_zero.hpp>
#include <pactrain/policy/non_zero_blocks.hpp>
#include <pactrain/policy/one_shot_magnitude.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/random_block.hpp>
#include <pactrain/policy/random_k.hpp>
#include <pactrain/policy/random_pruning.hpp>
#include <pactrain/policy/rig_l.hpp>
#include <pactrain/policy/sampled_top_k.hpp>
#include <pactrain/policy/sidco.hpp>
#include <pactrain/policy/threshold.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/track_zeros.hpp>
#include <pactrain/policy/united.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <functional>

using namespace pactrain;
using namespace pactrain::test;

static_assert(PruningPolicy<OneShotMagnitude, HostExecutor>);
static_assert(PruningPolicy<GradualMagnitude, HostExecutor>);
static_assert(PruningPolicy<RandomPruning, HostExecutor>);
static_assert(PruningPolicy<NofM<2, 4>, HostExecutor>);
static_assert(PruningPolicy<BlockMagnitude<16>, HostExecutor>);
static_assert(PruningPolicy<Pruned, HostExecutor>);
static_assert(PruningPolicy<KeepAll, HostExecutor>);
static_assert(PruningPolicy<TrackZeros, HostExecutor>);
static_assert(PruningPolicy<United<TopK>, HostExecutor>);
static_assert(PruningPolicy<United<Threshold>, HostExecutor>);
static_assert(PruningPolicy<United<NonZero>, HostExecutor>);
static_assert(PruningPolicy<United<SIDCo>, HostExecutor>);
static_assert(PruningPolicy<United<SampledTopK>, HostExecutor>);
static_assert(PruningPolicy<United<NonZeroBlocks<64>>, HostExecutor>);
static_assert(PruningPolicy<CyclicTopK, HostExecutor>);
static_assert(PruningPolicy<RandomK, HostExecutor>);
static_assert(PruningPolicy<RandomBlock, HostExecutor>);
static_assert(PruningPolicy<ByScore, HostExecutor>);
static_assert(PruningPolicy<RigL, HostExecutor>);
static_assert(has_gain<RandomK::on<HostExecutor>> && !has_gain<TopK::on<HostExecutor>>);
static_assert(PruningPolicy<example::EveryNth, HostExecutor>);
static_assert(PruningPolicy<example::EveryNth, PlainExecutor>);
static_assert(is_learned<TrackZeros> && !is_learned<NonZero> && !is_learned<Pruned>);

namespace {

/// Answers with something that owns memory: a near-miss, which no device could be handed.
struct Remote {
  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::dropped;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }

  template <Executor E>
  class on : public KeepAll::on<E> {
   public:
    explicit on(const Remote&) : KeepAll::on<E>(KeepAll{}) {}
    template <class T>
    [[nodiscard]] std::function<bool(std::size_t)> keep(const Piece<T>&) const {
      return kernel::Among{};
    }
  };
};
static_assert(!PruningPolicy<Remote, HostExecutor>);
static_assert(!KeepPredicate<std::function<bool(std::size_t)>>);
static_assert(!PruningPolicy<int, HostExecutor>);

TEST_CASE("every n-th entry of each part, for pieces cut anywhere") {
  HostExecutor exec;
  const Net<float, HostExecutor> net(exec, {5, 3}, std::vector<float>(8));
  example::EveryNth::on<HostExecutor> policy({.n = 2, .every = 10});
  CHECK(decided(exec, policy, net.model, net.shredded(1), 9) == Flags{1, 0, 1, 0, 1, 1, 0, 1});
  CHECK(policy.revision(9) != policy.revision(10));
  CHECK(decided(exec, policy, net.model, net.shredded(2), 10) == Flags{0, 1, 0, 1, 0, 0, 1, 0});
}

}  // namespace

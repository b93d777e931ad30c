// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/replica.hpp>

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
#include <pactrain/policy/random_k.hpp>
#include <pactrain/policy/random_pruning.hpp>
#include <pactrain/policy/rig_l.hpp>
#include <pactrain/policy/sampled_top_k.hpp>
#include <pactrain/policy/sidco.hpp>
#include <pactrain/policy/threshold.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/track_zeros.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

/// How each policy is made for the suite of `SparseAllReduce`.
namespace pactrain::test::reducer {

template <>
struct Make<KeepAll> {
  static KeepAll of(const Values&, double) { return {}; }
};
template <>
struct Make<OneShotMagnitude> {
  static OneShotMagnitude of(const Values& weights, double density) {
    return {.weights = weights, .sparsity = std::min(1 - density, 0.999)};
  }
};
/// The mask changes before the second step, and before the third.
template <>
struct Make<GradualMagnitude> {
  static GradualMagnitude of(const Values& weights, double density) {
    return {.weights = weights,
            .final_sparsity = std::min(1 - density, 0.999),
            .begin = 1,
            .end = 2,
            .every = 1,
            .scope = Scope::global};
  }
};
template <>
struct Make<RandomPruning> {
  static RandomPruning of(const Values& weights, double density) {
    return {.weights = weights, .sparsity = std::min(1 - density, 0.999), .seed = 5};
  }
};
template <std::size_t N, std::size_t M>
struct Make<NofM<N, M>> {
  static NofM<N, M> of(const Values& weights, double) { return {.weights = weights}; }
};
template <std::size_t B>
struct Make<BlockMagnitude<B>> {
  static BlockMagnitude<B> of(const Values& weights, double density) {
    return {.weights = weights, .sparsity = std::min(1 - density, 0.999)};
  }
};
/// Density 0 keeps nothing, a negative one keeps one entry.
template <>
struct Make<Pruned> {
  static Pruned of(const Values& weights, double density) {
    const std::size_t n = weights.size();
    std::vector<bool> flags(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double share = static_cast<double>(kernel::mix(i, 3) >> 11) * 0x1p-53;
      flags[i] = density < 0 ? i == n / 2 : share < density;
    }
    return Pruned::from_flags(flags, weights);
  }
};
template <>
struct Make<TrackZeros> {
  static TrackZeros of(const Values&, double) { return {.patience = 1}; }
};
template <>
struct Make<TopK> {
  static TopK of(const Values&, double density) { return {.fraction = density}; }
};
template <>
struct Make<ByScore> {
  static ByScore of(const Values& weights, double density) {
    return {.scores = weights, .sparsity = std::min(1 - density, 0.999)};
  }
};
/// The mask changes at the second step. (By gradients, a result is no dense sum at updates.)
template <>
struct Make<RigL> {
  static RigL of(const Values& weights, double density) {
    return {.weights = weights,
            .sparsity = std::min(1 - density, 0.999),
            .every = 1,
            .end = 2,
            .growth = Growth::random};
  }
};
template <std::size_t B>
struct Make<NonZeroBlocks<B>> {
  static NonZeroBlocks<B> of(const Values&, double) { return {}; }
};
template <>
struct Make<RandomK> {
  static RandomK of(const Values&, double density) { return {.fraction = density}; }
};
template <>
struct Make<CyclicTopK> {
  static CyclicTopK of(const Values&, double density) { return {.fraction = density}; }
};
template <>
struct Make<SIDCo> {
  static SIDCo of(const Values&, double density) { return {.fraction = density / 4, .window = 1}; }
};
template <>
struct Make<SampledTopK> {
  static SampledTopK of(const Values&, double density) { return {.fraction = density / 4}; }
};
template <>
struct Make<Threshold> {
  static Threshold of(const Values&, double) { return {.value = 4.0}; }
};
template <>
struct Make<NonZero> {
  static NonZero of(const Values&, double) { return {}; }
};

}  // namespace pactrain::test::reducer

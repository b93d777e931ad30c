// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries of a mask that all ranks know, as they are or coded.
#include <contract/system.hpp>

#include <vector>

namespace pactrain::test::contract {
namespace {

constexpr Promises lossless{.error = 0, .prunes = true};

template <class P, class M, class Z = Identity, class F = NoFeedback>
System masked(const char* name, const Promises& promises, Z codec = {}, F feedback = {}) {
  const auto policy = [](const Values& weights) -> P {
    if constexpr (requires { P{.weights = weights, .sparsity = 0.5}; }) {
      return {.weights = weights, .sparsity = 0.5};
    } else if constexpr (requires { P{.scores = weights, .sparsity = 0.5}; }) {
      return {.scores = weights, .sparsity = 0.5};
    } else {
      return {.weights = weights};
    }
  };
  return system<P, M>(name, promises, policy, codec, feedback);
}

}  // namespace

std::vector<System> pruned_systems() {
  return {
      masked<OneShotMagnitude, BitMask>("magnitude", lossless),
      system<GradualMagnitude, IndexMask>(
          "gradual magnitude", lossless,
          [](const Values& weights) {
            return GradualMagnitude{
                .weights = weights, .final_sparsity = 0.8, .begin = 1, .end = 3, .every = 1};
          }),
      masked<RandomPruning, BitMask>("random pruning", lossless),
      masked<NofM<2, 4>, NofMMask<2, 4>>("two of four", lossless),
      masked<BlockMagnitude<8>, BlockMask<8>>("blocks", lossless),
      masked<ByScore, BitMask>("by score", lossless),
      system<RigL, BitMask>("rigl", lossless,
                            [](const Values& weights) {
                              return RigL{.weights = weights,
                                          .sparsity = 0.5,
                                          .every = 1,
                                          .end = 2,
                                          .growth = Growth::random};
                            }),
      system<TrackZeros, BitMask>("learned zeros", {.error = 0},
                                  [](const Values&) { return TrackZeros{.patience = 1}; }),
      masked<OneShotMagnitude, BitMask>(
          "pruned and ternary", {.error = 1, .conserves = true, .prunes = true, .draws = true},
          Ternary{}, ErrorFeedback{}),
      masked<OneShotMagnitude, BitMask>("pruned and int4",
                                        {.error = 1.01 / 8, .conserves = true, .prunes = true},
                                        Int4{}, ErrorFeedback{}),
      masked<OneShotMagnitude, BitMask>("pruned and top k", {.conserves = true, .prunes = true},
                                        Gathered<TopK>{.policy = {.fraction = 0.2}},
                                        ErrorFeedback{}),
  };
}

}  // namespace pactrain::test::contract

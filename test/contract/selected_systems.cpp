// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some entries at each step, the same on all ranks.
#include <contract/system.hpp>

#include <vector>

namespace pactrain::test::contract {
namespace {

constexpr Promises lossless{.error = 0}, remembered{.error = 0, .conserves = true};

template <class P, class M, class F = NoFeedback>
System chosen(const char* name, const Promises& promises, const P& options, F feedback = {}) {
  return system<P, M>(
      name, promises, [options](const Values&) { return options; }, Identity{}, feedback);
}

}  // namespace

std::vector<System> selected_systems() {
  return {
      chosen<TopK, IndexMask>("top k, united", remembered, {.fraction = 0.1}, ErrorFeedback{}),
      chosen<Threshold, BitMask>("threshold, united", lossless, {.value = 4.0}),
      chosen<NonZero, BitMask>("non-zero, united", lossless, {}),
      chosen<NonZeroBlocks<8>, BlockMask<8>>("omnireduce", lossless, {}),
      chosen<CyclicTopK, IndexMask>("scalecom", remembered, {.fraction = 0.1}, ErrorFeedback{}),
      chosen<RandomK, BitMask>("random k", remembered, {.fraction = 0.2}, ErrorFeedback{}),
      chosen<RandomBlock, BitMask>("random block", remembered, {.fraction = 0.2}, ErrorFeedback{}),
      system<TopK, BitMask>(
          "top k, sketched", remembered, [](const Values&) { return TopK{.fraction = 0.1}; },
          Sketch{}, ErrorFeedback{}),
  };
}

}  // namespace pactrain::test::contract

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some entries of each rank, with their positions, to all.
#include <contract/system.hpp>

#include <vector>

namespace pactrain::test::contract {
namespace {

constexpr Promises remembered{.conserves = true};

template <class P, class M, class Z = Identity, class F = ErrorFeedback>
System gathered(const char* name, const Promises& promises, const P& options, Z codec = {},
                F feedback = {}) {
  return system<Gathered<P>, M>(
      name, promises, [options](const Values&) { return options; }, codec, feedback);
}

}  // namespace

std::vector<System> gathered_systems() {
  return {
      gathered<TopK, IndexMask>("top k", remembered, {.fraction = 0.1}),
      gathered<TopK, BitMask>("top k as int8", remembered, {.fraction = 0.1}, Int8{}),
      gathered<TopK, BloomMask>("deepreduce", remembered, {.fraction = 0.1}),
      gathered<SIDCo, IndexMask>("sidco", remembered, {.fraction = 0.1}),
      gathered<SampledTopK, IndexMask>("dgc", {}, {.fraction = 0.1}, Identity{},
                                       MomentumFeedback{}),
  };
}

}  // namespace pactrain::test::contract

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some entries of each rank, added up by those who own their positions.
#include <contract/system.hpp>

#include <vector>

namespace pactrain::test::contract {
namespace {

constexpr Promises remembered{.conserves = true};

template <class P, class M>
System owned(const char* name, const P& options) {
  return system<P, M>(
      name, remembered, [options](const Values&) { return options; }, Identity{}, ErrorFeedback{});
}

}  // namespace

std::vector<System> owned_systems() {
  return {
      owned<SparseStreams<TopK>, IndexMask>("sparcml", {.policy = {.fraction = 0.1}}),
      owned<Hashed<TopK>, BitMask>("zen", {.policy = {.fraction = 0.1}}),
      owned<Balanced<TopK>, IndexMask>("ok-topk",
                                       {.policy = {.fraction = 0.1, .scope = Scope::global}}),
  };
}

}  // namespace pactrain::test::contract

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wires that owners of shares add up.
#include <contract/system.hpp>

#include <vector>

namespace pactrain::test::contract {
std::vector<System> scattered_systems() {
  return {
      dense("cgx", {.moves_zeros = true}, Scattered<MinMax>{}),
      dense("scattered int8", {.error = 3.01 / 254}, Scattered<Int8>{}),
      dense("scattered in nodes of two", {.error = 4.01 / 254, .node = 2},
            Scattered<Int8>{.node = 2}),
      dense("loco", {.error = 0.5, .bytes = true}, Scattered<Int4>{},
            ErrorFeedback{.gamma = 0.2, .reset_period = 512, .storage = ValueType::int8}),
      dense("loco, sharded", {.error = 1.01 / 8, .conserves = true, .shards = true},
            Sharded<Int4>{}, ErrorFeedback{}),
  };
}

}  // namespace pactrain::test::contract

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All entries, in fewer bytes, on wires that add up or are gathered.
#include <contract/system.hpp>

#include <vector>

namespace pactrain::test::contract {
std::vector<System> coded_systems() {
  return {
      dense<Identity>("identity", {.error = 0}),
      dense("float16", {.error = 0x1p-10}, Cast<float16>{}),
      dense("bfloat16", {.error = 0x1p-7, .conserves = true, .halves = true}, Cast<bfloat16>{},
            ErrorFeedback{}),
      dense("int8", {.error = 1.01 / 254, .conserves = true}, Int8{}, ErrorFeedback{}),
      dense("int4", {.error = 1.01 / 8, .conserves = true}, Int4{}, ErrorFeedback{}),
      dense("sign", {.error = 2, .conserves = true, .moves_zeros = true}, Sign{}, ErrorFeedback{}),
      dense("sign and zeros", {.error = 2, .conserves = true}, Sign{.zeros = true},
            ErrorFeedback{}),
      dense("low rank", {.conserves = true, .moves_zeros = true}, LowRank{}, ErrorFeedback{}),
      dense("sketch", {.error = 0}, Sketch{}),
  };
}

}  // namespace pactrain::test::contract

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All entries, as integers that are drawn.
#include <contract/system.hpp>

#include <vector>

namespace pactrain::test::contract {
std::vector<System> quantised_systems() {
  return {
      dense("qsgd", {.draws = true}, QSGD{}),
      dense("natural", {.error = 1, .draws = true}, Natural{}),
      dense("min and max", {.error = 2.01 / 15, .draws = true, .moves_zeros = true},
            MinMax{.stochastic = true}),
      dense("ternary", {.error = 1, .draws = true}, Ternary{}),
      dense("ternary, remembered", {.error = 1, .conserves = true, .draws = true},
            Ternary{.clip = 2.5}, ErrorFeedback{}),
      dense("uniform homomorphic", {.draws = true, .moves_zeros = true}, UniformHomomorphic{}),
      dense("thc", {.conserves = true, .draws = true, .moves_zeros = true},
            Pipeline<RandomisedHadamard, NormalHomomorphic>{}, ErrorFeedback{}),
  };
}

}  // namespace pactrain::test::contract

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>

#include <cstddef>

namespace pactrain::kernel {

/// Scores of the entries 4 * block ... 4 * block + 3 of a part: random bits as the bits of a
/// non-negative, finite float, so that what ranks magnitudes ranks them.
struct RandomScores {
  Random random;
  std::size_t part, n;
  float* scores;
  PACTRAIN_FN void operator()(std::size_t block) const {
    const auto words = random_words(random, part, block);
    for (std::size_t i = 0; i < 4 && 4 * block + i < n; ++i) {
      scores[4 * block + i] = bits_as<float>(words[i] >> 2);
    }
  }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/value_type.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>

namespace pactrain {

/// Reduces `n` entries over `ranks` contributions in rank order: `out[i]` becomes op over r of
/// `contribution(r)[i]`, added in `arithmetic_t<T>` and rounded once. `out` may be one of the
/// contributions.
template <ReducibleValue T, class Contribution, class Op>
void reduce_in_rank_order(std::size_t n, int ranks, Contribution contribution, Op, T* out) {
  using A = arithmetic_t<T>;
  constexpr std::size_t chunk = 1024;  // stays in the first-level cache
  std::array<A, chunk> sum;
  for (std::size_t begin = 0; begin < n; begin += chunk) {
    const std::size_t count = std::min(chunk, n - begin);
    const T* const first = contribution(0) + begin;
    for (std::size_t i = 0; i < count; ++i) sum[i] = static_cast<A>(first[i]);
    for (int rank = 1; rank < ranks; ++rank) {
      const T* const x = contribution(rank) + begin;
      if constexpr (std::same_as<Op, Max>) {
        for (std::size_t i = 0; i < count; ++i) sum[i] = std::max(sum[i], static_cast<A>(x[i]));
      } else {
        for (std::size_t i = 0; i < count; ++i)
          sum[i] = static_cast<A>(sum[i] + static_cast<A>(x[i]));
      }
    }
    if constexpr (std::same_as<Op, Mean>) {
      static_assert(GradientValue<T>,
                    "pactrain: integers have a Sum and a Max over ranks, no Mean");
      const A count_of_ranks = static_cast<A>(ranks);
      for (std::size_t i = 0; i < count; ++i) sum[i] /= count_of_ranks;
    }
    for (std::size_t i = 0; i < count; ++i) out[begin + i] = static_cast<T>(sum[i]);
  }
}

}  // namespace pactrain

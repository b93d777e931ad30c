// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>

#include <concepts>
#include <cstddef>

namespace pactrain::kernel {

/// out[i] = the reduction over ranks of entry i of this rank's share, added in `arithmetic_t<T>` in
/// rank order and rounded once, as `reduce_in_rank_order` does on the host.
template <ReducibleValue T, class Op>
struct ReduceInRankOrder {
  const T* mine;    ///< this rank's contribution
  const T* others;  ///< the contributions of all ranks, `stride` apart; this rank's is not read
  std::size_t stride;
  int rank, ranks;
  T* out;

  PACTRAIN_FN void operator()(std::size_t i) const {
    using A = arithmetic_t<T>;
    A result = from(0, i);
    for (int r = 1; r < ranks; ++r) {
      const A x = from(r, i);
      if constexpr (std::same_as<Op, Max>) result = result < x ? x : result;
      else result = static_cast<A>(result + x);
    }
    if constexpr (std::same_as<Op, Mean>) {
      static_assert(GradientValue<T>,
                    "pactrain: integers have a Sum and a Max over ranks, no Mean");
      result /= static_cast<A>(ranks);
    }
    out[i] = static_cast<T>(result);
  }

 private:
  PACTRAIN_FN arithmetic_t<T> from(int r, std::size_t i) const {
    const T* const x = r == rank ? mine : others + static_cast<std::size_t>(r) * stride;
    return static_cast<arithmetic_t<T>>(x[i]);
  }
};

/// x[i] becomes x[i] / ranks.
template <GradientValue T>
struct DivideByRanks {
  T* x;
  int ranks;
  PACTRAIN_FN void operator()(std::size_t i) const {
    using A = arithmetic_t<T>;
    x[i] = static_cast<T>(static_cast<A>(x[i]) / static_cast<A>(ranks));
  }
};

}  // namespace pactrain::kernel

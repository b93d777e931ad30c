// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/magnitude.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// The largest magnitude of a chunk, as bits, and the place in the part of the first that has it.
struct Winner {
  std::uint64_t size;
  std::size_t at;
};

/// The winner of each chunk of `width` consecutive entries of a part that the `n` entries from
/// place `at` on reach into. A chunk that begins before them goes on from the winner so far.
template <class T>
struct FindWinner {
  const T* x;
  std::size_t at, n, width;
  Winner* winners;  ///< of the part's chunks
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t chunk = at / width + i;
    const std::size_t begin = chunk * width < at ? at : chunk * width;
    const std::size_t end = at + n - chunk * width < width ? at + n : (chunk + 1) * width;
    Winner best = begin == chunk * width ? Winner{magnitude(x[begin - at]), begin} : winners[chunk];
    for (std::size_t p = begin; p < end; ++p) {
      const std::uint64_t size = magnitude(x[p - at]);
      if (size > best.size) best = {size, p};
    }
    winners[chunk] = best;
  }
};

/// Keeps the winners of chunks, or, where there are none, what lies above a cut. Entry 0 is at
/// place `at` of its part.
template <class T>
struct KeepWinners {
  const Winner* winners;
  std::size_t at, width;
  KeepLargest<T> largest;
  PACTRAIN_FN bool operator()(std::size_t i) const {
    return winners != nullptr ? winners[(at + i) / width].at == at + i : largest(i);
  }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
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
    // The largest, which compilers find by vectors, then the first that is as large.
    bits_t<T> most = 0;
    for (std::size_t p = begin; p < end; ++p) {
      const bits_t<T> size = magnitude(x[p - at]);
      most = size > most ? size : most;
    }
    if (begin > chunk * width && most <= winners[chunk].size) return;
    std::size_t first = begin;
    while (magnitude(x[first - at]) != most) ++first;
    winners[chunk] = {most, first};
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
  /// The answers for 64 entries, by a look at each of their chunks.
  PACTRAIN_FN Word word_at(std::size_t i) const {
    if (winners == nullptr) return kept_word(largest, i);
    const std::size_t begin = at + i, end = begin + word_bits;
    Word bits = 0;
    for (std::size_t chunk = begin / width; chunk <= (end - 1) / width; ++chunk) {
      const std::size_t place = winners[chunk].at;
      if (place >= begin && place < end) bits |= Word{1} << (place - begin);
    }
    return bits;
  }
};

}  // namespace pactrain::kernel

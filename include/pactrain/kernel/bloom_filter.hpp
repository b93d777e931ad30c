// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// A Bloom filter: a position may be in the set if all of its places are. Places are functions of
/// the position and their number alone, the same on every rank and every executor: a + j b of two
/// mixes of the position (Kirsch and Mitzenmacher, "Less hashing, same performance", ESA'06).
struct BloomFilter {
  const Word* words = nullptr;
  std::uint64_t bits = 0;  ///< 0: no position is in the set
  std::uint64_t hashes = 0;

  PACTRAIN_FN bool operator()(std::size_t position) const {
    if (bits == 0) return false;
    std::uint64_t place = mix(position, 0);
    const std::uint64_t step = mix(position, 1);
    for (std::uint64_t j = 0; j < hashes; ++j, place += step) {
      const std::uint64_t bit = place % bits;
      if ((words[bit / word_bits] >> bit % word_bits & 1) == 0) return false;
    }
    return true;
  }
  /// The places of a position, one by one; for the host.
  template <class F>
  void places(std::size_t position, F f) const {
    std::uint64_t place = mix(position, 0);
    const std::uint64_t step = mix(position, 1);
    for (std::uint64_t j = 0; j < hashes; ++j, place += step) f(place % bits);
  }
};

}  // namespace pactrain::kernel

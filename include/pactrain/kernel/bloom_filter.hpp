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
    std::uint64_t hash = mix(position, 0);
    if (!has(place(hash))) return false;  // half of all positions: the second mix can wait
    const std::uint64_t step = mix(position, 1);
    for (std::uint64_t j = 1; j < hashes; ++j) {
      if (!has(place(hash += step))) return false;
    }
    return true;
  }
  /// The places of a position, one by one; for the host.
  template <class F>
  void places(std::size_t position, F f) const {
    std::uint64_t hash = mix(position, 0);
    const std::uint64_t step = mix(position, 1);
    for (std::uint64_t j = 0; j < hashes; ++j, hash += step) f(place(hash));
  }

 private:
  [[nodiscard]] PACTRAIN_FN bool has(std::uint64_t bit) const {
    return (words[bit / word_bits] >> bit % word_bits & 1) != 0;
  }
  /// The upper half of hash * bits, which is below `bits`: a remainder takes ten times as long.
  [[nodiscard]] PACTRAIN_FN std::uint64_t place(std::uint64_t hash) const {
    constexpr std::uint64_t low = 0xffffffffu;
    const std::uint64_t cross = (hash >> 32) * (bits & low) + ((hash & low) * (bits & low) >> 32);
    const std::uint64_t rest = (hash & low) * (bits >> 32) + (cross & low);
    return (hash >> 32) * (bits >> 32) + (cross >> 32) + (rest >> 32);
  }
};

}  // namespace pactrain::kernel

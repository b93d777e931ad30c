// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// A Bloom filter in blocks: `hashes` bits of one block of 512 bits tell a position.
struct BloomShape {
  static constexpr std::size_t block_bits = 512, block_words = block_bits / word_bits;
  static constexpr std::size_t most_hashes = 28;

  std::size_t blocks = 0, hashes = 0;
  std::uint64_t seed = 0;

  PACTRAIN_FN std::size_t words() const { return blocks * block_words; }
  PACTRAIN_FN std::uint64_t hash(std::size_t position) const { return mix(position, seed); }
  /// The upper half of a hash is for its block.
  PACTRAIN_FN std::size_t block(std::uint64_t hash) const {
    return static_cast<std::size_t>((hash >> 32) * blocks >> 32);
  }
  /// f(bit of the block) for each bit of a position, until it returns false; did it never? Nine
  /// bits of a word each: three of the lower half of the hash, which most that are not there do not
  /// pass, and seven of every further word.
  template <class F>
  PACTRAIN_FN bool every_bit(std::uint64_t hash, F f) const {
    std::uint64_t bits = hash;
    for (std::size_t i = 0; i < hashes; ++i) {
      if (i % 7 == 3) bits = mix(hash, i);
      if (!f(static_cast<std::size_t>(bits % block_bits))) return false;
      bits /= block_bits;
    }
    return true;
  }
};

/// May `position` be in the set?
struct BloomHas {
  BloomShape shape;
  const Word* words;
  struct IsSet {
    const Word* block;
    PACTRAIN_FN bool operator()(std::size_t bit) const {
      return (block[bit / word_bits] >> bit % word_bits & 1) != 0;
    }
  };
  PACTRAIN_FN bool operator()(std::size_t position) const {
    const std::uint64_t hash = shape.hash(position);
    return shape.every_bit(hash, IsSet{words + shape.block(hash) * BloomShape::block_words});
  }
};

/// The items of a set by the block of the filter that they set bits of: counted by shares of the
/// items, each of which keeps its own counters, block after block.
struct BloomCounters {
  static constexpr std::size_t shares = 16;
  BloomShape shape;
  const std::size_t* positions;
  std::size_t items;
  std::size_t* counters;  ///< counters[block * shares + share]

  PACTRAIN_FN std::size_t begin(std::size_t share) const { return items * share / shares; }
  PACTRAIN_FN std::size_t& counter(std::size_t share, std::size_t item) const {
    return counters[shape.block(shape.hash(positions[item])) * shares + share];
  }
};
/// Counts a share; counters are zeros before.
struct BloomCount {
  BloomCounters by;
  PACTRAIN_FN void operator()(std::size_t share) const {
    for (std::size_t i = by.begin(share); i < by.begin(share + 1); ++i) ++by.counter(share, i);
  }
};
/// Puts a share's positions behind those before it; counters say where, and are moved.
struct BloomSort {
  BloomCounters by;
  std::size_t* sorted;
  PACTRAIN_FN void operator()(std::size_t share) const {
    for (std::size_t i = by.begin(share); i < by.begin(share + 1); ++i) {
      sorted[by.counter(share, i)++] = by.positions[i];
    }
  }
};
/// Sets the bits of a block. One call a block, so that a word is written by one thread.
struct BloomFill {
  BloomCounters by;  ///< after `BloomSort`: a block ends where its last counter stands
  const std::size_t* sorted;
  Word* words;
  struct Set {
    Word* block;
    PACTRAIN_FN bool operator()(std::size_t bit) const {
      block[bit / word_bits] |= Word{1} << bit % word_bits;
      return true;
    }
  };
  PACTRAIN_FN void operator()(std::size_t block) const {
    constexpr std::size_t last = BloomCounters::shares - 1;
    Word* const out = words + block * BloomShape::block_words;
    for (std::size_t word = 0; word < BloomShape::block_words; ++word) out[word] = 0;
    const std::size_t end = by.counters[block * BloomCounters::shares + last];
    const std::size_t begin =
        block > 0 ? by.counters[(block - 1) * BloomCounters::shares + last] : 0;
    for (std::size_t i = begin; i < end; ++i) {
      by.shape.every_bit(by.shape.hash(sorted[i]), Set{out});
    }
  }
};

/// A number of a table.
struct NumberAt {
  const std::size_t* numbers;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const { return numbers[i]; }
};
/// positions[slot] = position.
struct ListPosition {
  std::size_t* positions;
  PACTRAIN_FN void operator()(std::size_t slot, std::size_t position) const {
    positions[slot] = position;
  }
};

}  // namespace pactrain::kernel

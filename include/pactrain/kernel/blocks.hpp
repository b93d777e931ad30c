// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/tiles.hpp>

#include <cstddef>

namespace pactrain::kernel {

/// A set of whole blocks: a bit per block, and the number of kept entries before each part.
template <std::size_t width>
struct Blocks {
  Bits bits;
  Tiles<width> tiles;
  const std::size_t* slots = nullptr;

  PACTRAIN_FN bool operator()(std::size_t position) const { return bits(tiles.tile_of(position)); }
  PACTRAIN_FN std::size_t slot(std::size_t position) const {
    const std::size_t part = tiles.part_of(position);
    const std::size_t block = tiles.tile_of(part, position);
    return slot_of_block(part, block) + (bits(block) ? position - tiles.begin(part, block) : 0);
  }
  /// Kept entries before a block. All blocks of a part but the last are of full width.
  PACTRAIN_FN std::size_t slot_of_block(std::size_t part, std::size_t block) const {
    return slots[part] + width * (bits.slot(block) - bits.slot(tiles.parts[part].tile));
  }
  PACTRAIN_FN Word word(std::size_t index) const {
    const std::size_t first = index * word_bits;
    const std::size_t room = tiles.entries() - first;
    const std::size_t last = first + (room < word_bits ? room : word_bits);
    std::size_t part = tiles.part_of(first);
    Word word = 0;
    for (std::size_t p = first; p < last;) {
      if (p == tiles.parts[part + 1].position) ++part;
      const std::size_t block = tiles.tile_of(part, p);
      const std::size_t end = tiles.end(part, block);
      if (bits(block)) word |= between(first, p, end);
      p = end;
    }
    return word;
  }
};

/// The number of kept entries of a part; only its last block may be short.
template <std::size_t width>
struct CountBlocks {
  Bits bits;
  Tiles<width> tiles;
  PACTRAIN_FN std::size_t operator()(std::size_t part) const {
    const std::size_t from = tiles.parts[part].tile, to = tiles.parts[part + 1].tile;
    const std::size_t missing = tiles.begin(part, to - 1) + width - tiles.end(part, to - 1);
    return width * (bits.slot(to) - bits.slot(from)) - (bits(to - 1) ? missing : 0);
  }
};

/// Is block `block + i` kept, because it was, or because `keep` keeps an entry of it? `keep` is
/// asked about the `n` positions from `first` on, which are in `part`.
template <std::size_t width, class Keep>
struct KeepBlock {
  Keep keep;
  Blocks<width> blocks;
  std::size_t part, block, first, n;
  PACTRAIN_FN bool operator()(std::size_t i) const {
    if (blocks.bits(block + i)) return true;
    const std::size_t begin = blocks.tiles.begin(part, block + i);
    const std::size_t end = blocks.tiles.end(part, block + i);
    const std::size_t last = end < first + n ? end : first + n;
    for (std::size_t p = begin > first ? begin : first; p < last; ++p) {
      if (keep(p - first)) return true;
    }
    return false;
  }
};

/// Blocks that one call walks: about as many entries as a group of bits has.
template <std::size_t width>
inline constexpr std::size_t blocks_a_call = width < group_bits ? group_bits / width : 1;

/// Calls f(slot, position) for the kept positions of [first, last) in some of its blocks, which
/// are [block, end).
template <std::size_t width, class F>
struct VisitBlocks {
  F f;
  Blocks<width> blocks;
  std::size_t first, last, block, end;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const Tiles<width>& tiles = blocks.tiles;
    std::size_t at = block + i * blocks_a_call<width>;
    const std::size_t stop = end - at < blocks_a_call<width> ? end : at + blocks_a_call<width>;
    std::size_t part = tiles.part_with(at);
    std::size_t slot = blocks.slot_of_block(part, at);
    for (; at < stop; ++at) {
      if (at == tiles.parts[part + 1].tile) ++part;
      if (!blocks.bits(at)) continue;
      const std::size_t begin = tiles.begin(part, at), over = tiles.end(part, at);
      const std::size_t high = over < last ? over : last;
      for (std::size_t p = begin > first ? begin : first; p < high; ++p) {
        f(slot + (p - begin), p);
      }
      slot += over - begin;
    }
  }
};

}  // namespace pactrain::kernel

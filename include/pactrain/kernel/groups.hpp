// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/tiles.hpp>

#include <bit>
#include <cstddef>

namespace pactrain::kernel {

/// How the N kept places of a group of M are written: as N numbers, or as M bits where that is no
/// longer (2:4 takes four bits either way; 1:4 two instead of four, 1:16 four instead of sixteen).
/// A word holds as many whole groups as fit.
template <std::size_t N, std::size_t M>
struct GroupCode {
  static constexpr std::size_t place_bits = static_cast<std::size_t>(std::bit_width(M - 1));
  static constexpr bool places = N * place_bits < M;
  static constexpr std::size_t bits = places ? N * place_bits : M;
  static constexpr std::size_t per_word = word_bits / bits;

  /// Unused places repeat the last one, so that a short group has one code. Precondition: `set`
  /// has between one and N places.
  PACTRAIN_FN static constexpr Word encode(Word set) {
    if constexpr (!places) {
      return set;
    } else {
      Word code = 0, place = 0;
      for (std::size_t i = 0; i < N; ++i) {
        if (set != 0) place = lowest(set);
        set &= set - 1;
        code |= place << i * place_bits;
      }
      return code;
    }
  }
  PACTRAIN_FN static constexpr Word decode(Word code) {
    if constexpr (!places) {
      return code;
    } else {
      Word set = 0;
      for (std::size_t i = 0; i < N; ++i) {
        set |= Word{1} << (code >> i * place_bits & between(0, 0, place_bits));
      }
      return set;
    }
  }
};

/// The groups of a model, each with N kept places, or all where it is shorter than N.
template <std::size_t N, std::size_t M>
struct Groups {
  using Code = GroupCode<N, M>;

  const Word* codes = nullptr;
  Tiles<M> tiles;
  const std::size_t* slots = nullptr;  ///< kept entries before each part

  PACTRAIN_FN static constexpr std::size_t words_for(std::size_t groups) {
    return (groups + Code::per_word - 1) / Code::per_word;
  }
  /// The kept places of a group as bits.
  PACTRAIN_FN Word group(std::size_t index) const { return group(codes, index); }
  PACTRAIN_FN static Word group(const Word* codes, std::size_t index) {
    const Word word = codes[index / Code::per_word] >> index % Code::per_word * Code::bits;
    return Code::decode(word & between(0, 0, Code::bits));
  }
  /// How many places of a group are to be kept.
  PACTRAIN_FN std::size_t due(std::size_t part, std::size_t index) const {
    const std::size_t size = tiles.end(part, index) - tiles.begin(part, index);
    return size < N ? size : N;
  }
  PACTRAIN_FN bool operator()(std::size_t position) const {
    const std::size_t part = tiles.part_of(position);
    const std::size_t index = tiles.tile_of(part, position);
    return (group(index) >> (position - tiles.begin(part, index)) & 1) != 0;
  }
  PACTRAIN_FN std::size_t slot(std::size_t position) const {
    const std::size_t part = tiles.part_of(position);
    const std::size_t index = tiles.tile_of(part, position);
    const std::size_t begin = tiles.begin(part, index);
    return slot_of_group(part, index) + popcount(group(index) & between(begin, begin, position));
  }
  /// Kept entries before a group. All groups of a part but the last keep N.
  PACTRAIN_FN std::size_t slot_of_group(std::size_t part, std::size_t index) const {
    return slots[part] + N * (index - tiles.parts[part].tile);
  }
  PACTRAIN_FN Word word(std::size_t index) const {
    const std::size_t first = index * word_bits;
    const std::size_t room = tiles.entries() - first;
    const std::size_t last = first + (room < word_bits ? room : word_bits);
    std::size_t part = tiles.part_of(first);
    Word word = 0;
    for (std::size_t p = first; p < last;) {
      if (p == tiles.parts[part + 1].position) ++part;
      const std::size_t at = tiles.tile_of(part, p);
      word |= group(at) >> (p - tiles.begin(part, at)) << (p - first);
      p = tiles.end(part, at);
    }
    return word;
  }
};

/// A group that keeps a wrong number of entries, as one integer that orders by groups.
struct WrongGroup {
  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr std::size_t unassigned = none - 1;  ///< nothing was said of any group
  static constexpr std::size_t kept_bits = 7;          // at most 64

  PACTRAIN_FN static constexpr std::size_t encode(std::size_t group, std::size_t kept) {
    return group << kept_bits | kept;
  }
  PACTRAIN_FN static constexpr std::size_t group(std::size_t wrong) { return wrong >> kept_bits; }
  PACTRAIN_FN static constexpr std::size_t kept(std::size_t wrong) {
    return wrong & ((std::size_t{1} << kept_bits) - 1);
  }
};

/// Calls f(slot, position) for the kept positions of [first, last) in the groups of one word of
/// codes; the groups in question are [group, end).
template <std::size_t N, std::size_t M, class F>
struct VisitGroups {
  F f;
  Groups<N, M> groups;
  std::size_t first, last, group, end;
  PACTRAIN_FN void operator()(std::size_t i) const {
    constexpr std::size_t per_word = GroupCode<N, M>::per_word;
    const Tiles<M>& tiles = groups.tiles;
    const std::size_t word = group / per_word + i;
    std::size_t at = word * per_word < group ? group : word * per_word;
    const std::size_t stop = end < (word + 1) * per_word ? end : (word + 1) * per_word;
    for (std::size_t part = tiles.part_with(at); at < stop; ++at) {
      if (at == tiles.parts[part + 1].tile) ++part;
      const std::size_t begin = tiles.begin(part, at);
      std::size_t slot = groups.slot_of_group(part, at);
      for (Word rest = groups.group(at); rest != 0; rest &= rest - 1) {
        const std::size_t position = begin + lowest(rest);
        if (position >= first && position < last) f(slot, position);
        ++slot;
      }
    }
  }
};

}  // namespace pactrain::kernel

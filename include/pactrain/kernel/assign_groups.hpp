// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/groups.hpp>
#include <pactrain/kernel/tiles.hpp>

#include <cstddef>

namespace pactrain::kernel {

/// What `keep` says of the `n` positions from `first` on, which are in `part`, group by group.
/// Where they begin inside group `group`, `carried` holds what was said of its earlier places.
template <std::size_t M, class Keep>
struct GroupedKeep {
  Keep keep;
  Tiles<M> tiles;
  std::size_t part, group, first, n;
  const Word* carried;

  PACTRAIN_FN bool complete(std::size_t index) const { return tiles.end(part, index) <= first + n; }
  PACTRAIN_FN Word operator()(std::size_t index) const {
    const std::size_t begin = tiles.begin(part, index);
    const std::size_t last = complete(index) ? tiles.end(part, index) : first + n;
    Word set = begin < first ? *carried : 0;
    for (std::size_t p = begin < first ? first : begin; p < last; ++p) {
      set |= static_cast<Word>(keep(p - first) ? 1 : 0) << (p - begin);
    }
    return set;
  }
};

/// Group `group + i`, if it is complete and keeps a wrong number; the first also answers for what
/// was found before.
template <std::size_t N, std::size_t M, class Keep>
struct WrongKeep {
  GroupedKeep<M, Keep> kept;
  Groups<N, M> groups;
  const std::size_t* before;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    const std::size_t index = kept.group + i;
    const std::size_t found = i == 0 ? *before : WrongGroup::none;
    if (!kept.complete(index)) return found;
    const std::size_t ones = popcount(kept(index));
    if (ones == groups.due(kept.part, index)) return found;
    return Smallest{}(found, WrongGroup::encode(index, ones));
  }
};

/// Writes the groups [group, end) that are in one word of codes; a group that is not complete goes
/// to `carry` instead.
template <std::size_t N, std::size_t M, class Keep>
struct AssignGroups {
  GroupedKeep<M, Keep> kept;
  std::size_t end;
  Word* codes;
  Word* carry;
  PACTRAIN_FN void operator()(std::size_t i) const {
    using Code = GroupCode<N, M>;
    const std::size_t word = kept.group / Code::per_word + i;
    const std::size_t base = word * Code::per_word;
    Word out = codes[word];
    for (std::size_t at = base < kept.group ? kept.group : base;
         at < end && at < base + Code::per_word; ++at) {
      const Word set = kept(at);
      if (!kept.complete(at)) {
        *carry = set;
        continue;
      }
      const std::size_t shift = (at - base) * Code::bits;
      out = (out & ~(between(0, 0, Code::bits) << shift)) | Code::encode(set) << shift;
    }
    codes[word] = out;
  }
};

/// The union of a group over `ranks` arrays of `stride` words: codes, and last what is wrong with
/// them. Ranks that have assigned nothing contribute nothing.
template <std::size_t N, std::size_t M>
struct UnitedGroups {
  const Word* all;
  std::size_t stride, ranks;
  PACTRAIN_FN std::size_t wrong(std::size_t rank) const { return all[rank * stride + stride - 1]; }
  PACTRAIN_FN Word operator()(std::size_t index) const {
    Word set = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (wrong(rank) == WrongGroup::unassigned) continue;
      set |= Groups<N, M>::group(all + rank * stride, index);
    }
    return set;
  }
};

/// Group `i` if its union keeps a wrong number; the first also answers for what ranks found.
template <std::size_t N, std::size_t M>
struct WrongUnion {
  UnitedGroups<N, M> united;
  Groups<N, M> groups;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    std::size_t found = WrongGroup::none;
    for (std::size_t rank = 0; i == 0 && rank < united.ranks; ++rank) {
      const std::size_t wrong = united.wrong(rank);
      if (wrong != WrongGroup::unassigned) found = Smallest{}(found, wrong);
    }
    const std::size_t ones = popcount(united(i));
    if (ones == groups.due(groups.tiles.part_with(i), i)) return found;
    return Smallest{}(found, WrongGroup::encode(i, ones));
  }
};

/// Writes word `i` of the codes of a union; `count` groups in all.
template <std::size_t N, std::size_t M>
struct EncodeUnion {
  UnitedGroups<N, M> united;
  std::size_t count;
  Word* codes;
  PACTRAIN_FN void operator()(std::size_t i) const {
    using Code = GroupCode<N, M>;
    Word out = 0;
    for (std::size_t j = 0; j < Code::per_word && i * Code::per_word + j < count; ++j) {
      out |= Code::encode(united(i * Code::per_word + j)) << j * Code::bits;
    }
    codes[i] = out;
  }
};

}  // namespace pactrain::kernel

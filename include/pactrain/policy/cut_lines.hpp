// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/select_largest.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/magnitude.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace pactrain {

/// What the entries of each part are held against: bits of a magnitude, above which they are kept,
/// and the position in the model below which equal ones are. It lets a policy that chooses by
/// magnitude answer for pieces that are cut anywhere. A part without a line is kept whole.
class CutLines {
 public:
  /// No part of so many has a line yet.
  void begin(std::size_t parts) { lines_.assign(parts, {}); }
  /// The k largest magnitudes of these pieces together are kept, which ascend by position: exactly
  /// so many (all where k is larger), of equal ones the first. Waits.
  template <Executor E, class T>
  void set_largest(E& exec, std::span<const Piece<T>> pieces, std::size_t k, Scratch<E>& scratch) {
    using V = std::remove_const_t<T>;
    std::vector<Ranked<V>> runs;
    for (const Piece<T>& piece : pieces) runs.push_back({piece.values(), {}});
    std::vector<kernel::Cut<V>> cuts(runs.size());
    select_largest(exec, std::span<const Ranked<V>>(runs), k, std::span(cuts), scratch);
    std::size_t ties_end = everywhere;
    for (std::size_t i = pieces.size(); i-- > 0;) {
      if (cuts[i].below < pieces[i].size) ties_end = pieces[i].first + cuts[i].below;
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      lines_[pieces[i].part] = {cuts[i].bar, ties_end};
    }
  }
  /// What lies above `bar` is kept of a part, and nothing else.
  void set(std::size_t part, std::uint64_t bar) { lines_[part] = {bar, 0}; }

  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    using V = std::remove_const_t<T>;
    const Line& line = lines_[piece.part];
    const std::size_t below = std::max(line.ties_end, piece.first) - piece.first;
    return kernel::KeepLargest<V>{piece.data, {}, {static_cast<bits_t<V>>(line.bar), below}};
  }

 private:
  static constexpr std::size_t everywhere = std::numeric_limits<std::size_t>::max();
  struct Line {
    std::uint64_t bar = 0;
    std::size_t ties_end = everywhere;
  };

  std::vector<Line> lines_;
};

template <class T>
[[nodiscard]] std::size_t entries_of(std::span<const Piece<T>> pieces) {
  std::size_t n = 0;
  for (const Piece<T>& piece : pieces) n += piece.size;
  return n;
}

/// The pieces of parts that are not kept `whole`, ascending by position, in groups that are chosen
/// from together: those of each part, or all of them. `f(pieces of a group, number of the group)`;
/// with the global scope there is one group, 0, else a group has its part's number.
template <class T, class F>
void each_group(std::span<const Piece<T>> gradient, const std::vector<bool>& whole, bool together,
                F f) {
  std::vector<Piece<T>> pieces;
  for (const Piece<T>& piece : gradient) {
    if (!whole[piece.part]) pieces.push_back(piece);
  }
  std::ranges::sort(pieces, {}, &Piece<T>::first);  // ties go by index, however pieces come
  for (std::size_t begin = 0, end = 0; begin < pieces.size(); begin = end) {
    while (end < pieces.size() && (together || pieces[end].part == pieces[begin].part)) ++end;
    f(std::span<const Piece<T>>(pieces).subspan(begin, end - begin),
      together ? std::size_t{0} : pieces[begin].part);
  }
}

}  // namespace pactrain

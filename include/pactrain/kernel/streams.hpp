// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/indices.hpp>

#include <cstddef>

namespace pactrain::kernel {

/// out[i] = how many indices lie below cuts[i].
struct SlotsAt {
  Indices indices;
  const std::size_t* cuts;
  std::size_t* out;
  PACTRAIN_FN void operator()(std::size_t i) const { out[i] = indices.slot(cuts[i]); }
};

/// Item i: the position of chosen entry first + i, counted from `begin`, and its value.
template <class S, class W>
struct WriteItems {
  Indices chosen;
  std::size_t first, begin;
  const S* dense;
  Indices positions;
  W* values;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t position = chosen.at(first + i);
    positions.put(i, position - begin);
    values[i] = cast<W>(dense[position]);
  }
};

/// The values of the chosen entries from `first` on, where they stand.
template <class S, class W>
struct WriteChosen {
  Indices chosen;
  std::size_t first, begin;
  const S* dense;
  W* values;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t position = chosen.at(first + i);
    values[position - begin] = cast<W>(dense[position]);
  }
};

/// out[position of item i] = its value.
template <class W, class A>
struct PlaceItems {
  Indices positions;
  const W* values;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const { out[positions.at(i)] = cast<A>(values[i]); }
};

/// The value in slot `slot` goes to `place`.
template <class T>
struct PlaceAt {
  const T* values;
  T* out;
  PACTRAIN_FN void operator()(std::size_t slot, std::size_t place) const {
    out[place] = values[slot];
  }
};

/// The same by a list of places.
template <class To>
struct PlaceListed {
  To to;
  Indices places;
  PACTRAIN_FN void operator()(std::size_t slot) const { to(slot, places.at(slot)); }
};

/// sum[position of item i] += its value.
template <class W, class A>
struct AddItems {
  Indices positions;
  const W* values;
  A* sum;
  PACTRAIN_FN void operator()(std::size_t i) const {
    A& at = sum[positions.at(i)];
    at = static_cast<A>(at + cast<A>(values[i]));
  }
};

/// 1 where item i of a stream is at a position that the sum has not.
struct CountFresh {
  Indices sum, stream;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const { return sum(stream.at(i)) ? 0 : 1; }
};

/// The union of two lists of positions, each ascending; `before[i]` is how many positions of
/// `stream` below its i-th are not in `sum`, `fresh` how many there are in all.
struct Merge {
  Indices sum, stream;
  const std::size_t* before;
  std::size_t fresh;
  /// The slot in the union of item i of the sum, or of the stream.
  PACTRAIN_FN std::size_t of_sum(std::size_t i) const {
    const std::size_t below = stream.slot(sum.at(i));
    return i + (below < stream.count ? before[below] : fresh);
  }
  PACTRAIN_FN std::size_t of_stream(std::size_t i) const {
    return sum.slot(stream.at(i)) + before[i];
  }
};

/// The items of the sum go to their slots in the union.
template <class A>
struct MoveSums {
  Merge merge;
  const A* values;
  Indices positions;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t slot = merge.of_sum(i);
    positions.put(slot, merge.sum.at(i));
    out[slot] = values[i];
  }
};

/// The items of the stream are added there; what is new is added to zero, as in a dense sum.
template <class W, class A>
struct MergeItems {
  Merge merge;
  const W* values;
  Indices positions;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t position = merge.stream.at(i), slot = merge.of_stream(i);
    const A before = merge.sum(position) ? out[slot] : A(0);
    positions.put(slot, position);
    out[slot] = static_cast<A>(before + cast<A>(values[i]));
  }
};

/// conveyed[p] = what the chosen value at p is in type W.
template <class S, class W, class A>
struct ConveyChosen {
  Indices chosen;
  const S* dense;
  A* conveyed;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t position = chosen.at(i);
    conveyed[position] = cast<A>(cast<W>(dense[position]));
  }
};

/// conveyed[position] = what the value there is in type W.
template <class S, class W, class A>
struct ConveyAt {
  const S* dense;
  A* conveyed;
  PACTRAIN_FN void operator()(std::size_t, std::size_t position) const {
    conveyed[position] = cast<A>(cast<W>(dense[position]));
  }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/indices.hpp>

#include <cstddef>

namespace pactrain::kernel {

/// Who owns a position where owners are drawn by a hash, the same on every rank.
PACTRAIN_FN constexpr std::size_t hashed_owner(std::size_t position, std::size_t ranks) {
  return static_cast<std::size_t>(mix(position, 0x5a656eu) % ranks);
}

/// Is the position at place `i` of an order in the set?
template <class Set>
struct InOrder {
  Set set;
  Indices order;
  PACTRAIN_FN bool operator()(std::size_t i) const { return set(order.at(i)); }
};

/// out[i] = the value that stands at place `i` of an order.
template <class S>
struct Reorder {
  const S* values;
  Indices order;
  S* out;
  PACTRAIN_FN void operator()(std::size_t i) const { out[i] = values[order.at(i)]; }
};

/// The value in slot `slot` goes where place first + `place` of an order stands.
template <class T>
struct PlaceInOrder {
  const T* values;
  Indices order;
  std::size_t first;
  T* out;
  PACTRAIN_FN void operator()(std::size_t slot, std::size_t place) const {
    out[order.at(first + place)] = values[slot];
  }
};

/// The same by a list of places.
template <class T>
struct PlaceListed {
  PlaceInOrder<T> to;
  Indices places;
  PACTRAIN_FN void operator()(std::size_t slot) const { to(slot, places.at(slot)); }
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

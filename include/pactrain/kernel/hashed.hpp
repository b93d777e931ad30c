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

}  // namespace pactrain::kernel

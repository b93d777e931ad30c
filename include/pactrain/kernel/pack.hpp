// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// x[i] = value.
template <class T>
struct Fill {
  T* x;
  T value;
  PACTRAIN_FN void operator()(std::size_t i) const { x[i] = value; }
};

/// Packed slot `slot` gets the value at `position`; `packed` holds slot `base` first.
template <class T>
struct Gather {
  const T* dense;
  std::size_t first;
  T* packed;
  std::size_t base;
  PACTRAIN_FN void operator()(std::size_t slot, std::size_t position) const {
    packed[slot - base] = dense[position - first];
  }
};

/// The value in slot `slot` goes to `position`.
template <class T>
struct Scatter {
  const T* packed;
  std::size_t base;
  T* dense;
  std::size_t first;
  PACTRAIN_FN void operator()(std::size_t slot, std::size_t position) const {
    dense[position - first] = packed[slot - base];
  }
};

/// The value at `position` loses what its slot conveyed.
template <class S, class A>
struct Deduct {
  const A* conveyed;
  std::size_t base;
  S* dense;
  std::size_t first;
  PACTRAIN_FN void operator()(std::size_t slot, std::size_t position) const {
    S& x = dense[position - first];
    x = static_cast<S>(x - static_cast<S>(conveyed[slot - base]));
  }
};

/// The value at `position` becomes +0.0.
template <class T>
struct ClearAt {
  T* dense;
  std::size_t first;
  PACTRAIN_FN void operator()(std::size_t position) const { dense[position - first] = T{}; }
};

/// out[0] becomes the slot of `position`.
template <class Set>
struct SlotAt {
  Set set;
  std::size_t position;
  std::size_t* out;
  PACTRAIN_FN void operator()(std::size_t) const { *out = set.slot(position); }
};

/// 1 where x[i] is an infinity or a NaN.
template <class T>
struct NonFiniteAt {
  const T* x;
  PACTRAIN_FN std::uint32_t operator()(std::size_t i) const { return is_finite(x[i]) ? 0u : 1u; }
};

/// i where x[i] is an infinity or a NaN, else `n`.
template <class T>
struct FirstNonFinite {
  const T* x;
  std::size_t n;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const { return is_finite(x[i]) ? n : i; }
};

/// 1 where `keep` drops the entry and it differs from zero.
template <class T, class Keep>
struct StrayAt {
  const T* x;
  std::size_t first;
  Keep keep;
  PACTRAIN_FN std::uint32_t operator()(std::size_t i) const {
    return !keep(first + i) && magnitude(x[i]) != 0 ? 1u : 0u;
  }
};

}  // namespace pactrain::kernel

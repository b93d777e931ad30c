// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain::kokkos {

/// out[0] = value.
template <class T>
struct Put {
  T value;
  T* out;
  PACTRAIN_FN void operator()(std::size_t) const { *out = value; }
};

/// Values that have been combined, if there were any: a `combine` has no neutral element.
template <class T>
struct Partial {
  T value;
  std::uint32_t any;
};

/// out[0] = `init` and all `load(i)`, combined; an index of Kokkos' is a chunk of `chunk` entries.
/// What Kokkos calls a reduction with `init`, `join` and `final`: the result never leaves its
/// memory space, so nothing waits.
template <class T, class Load, class Combine>
struct Reduce {
  using value_type = Partial<T>;

  std::size_t n, chunk;
  T initial;
  Load load;
  Combine combine;
  T* out;

  PACTRAIN_FN void operator()(std::size_t at, Partial<T>& partial) const {
    const std::size_t begin = at * chunk, end = begin + chunk < n ? begin + chunk : n;
    T mine = load(begin);
    for (std::size_t i = begin + 1; i < end; ++i) mine = combine(mine, load(i));
    join(partial, Partial<T>{mine, 1});
  }
  PACTRAIN_FN void init(Partial<T>& partial) const { partial = {}; }
  PACTRAIN_FN void join(Partial<T>& a, const Partial<T>& b) const {
    if (b.any == 0) return;
    a = a.any == 0 ? b : Partial<T>{combine(a.value, b.value), 1};
  }
  /// The form that Kokkos calls before version 4.
  PACTRAIN_FN void join(volatile Partial<T>& a, const volatile Partial<T>& b) const {
    join(const_cast<Partial<T>&>(a), const_cast<const Partial<T>&>(b));
  }
  PACTRAIN_FN void final(Partial<T>& partial) const {
    *out = partial.any == 0 ? initial : combine(initial, partial.value);
  }
};

/// before[i] = the sum of earlier `load`s, and total[0] = that of all.
template <class Load>
struct Scan {
  using value_type = std::size_t;

  std::size_t n;
  Load load;
  std::size_t* before;
  std::size_t* total;

  PACTRAIN_FN void operator()(std::size_t i, std::size_t& sum, bool last_pass) const {
    const std::size_t value = load(i);
    if (last_pass) before[i] = sum;
    sum += value;
    if (last_pass && i + 1 == n) *total = sum;
  }
};

}  // namespace pactrain::kokkos

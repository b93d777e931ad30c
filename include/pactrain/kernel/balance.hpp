// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/indices.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// cuts[i] = where the (i + 1)-th of `parts` equal runs of indices begins.
struct EqualCuts {
  Indices indices;
  std::size_t parts;
  std::uint64_t* cuts;
  PACTRAIN_FN void operator()(std::size_t i) const {
    cuts[i] = indices.at(indices.count / parts * (i + 1) + indices.count % parts * (i + 1) / parts);
  }
};

/// Item i becomes the mean of the i-th sum that `picked` names, and its position in the vector.
template <class A, class T>
struct TakeMeans {
  Indices picked;
  Indices positions;  ///< of the sums, in their range; without data, sums stand at 0, 1, ...
  const A* sums;
  A divisor;
  std::size_t begin;
  Indices out;
  T* values;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t slot = picked.at(i);
    out.put(i, begin + (positions.data == nullptr ? slot : positions.at(slot)));
    values[i] = static_cast<T>(static_cast<A>(sums[slot] / divisor));
  }
};

/// Where item i stands, this rank conveyed its own value if it had chosen the entry.
template <class Keep, class S, class W, class A>
struct ConveyMet {
  Indices positions;
  Keep keep;
  const S* dense;
  A* conveyed;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t position = positions.at(i);
    if (keep(position)) conveyed[position] = cast<A>(cast<W>(dense[position]));
  }
};

}  // namespace pactrain::kernel

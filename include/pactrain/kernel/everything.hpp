// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>

namespace pactrain::kernel {

/// All positions below `size`, as a set.
struct Everything {
  std::size_t size;
  PACTRAIN_FN bool operator()(std::size_t) const { return true; }
  PACTRAIN_FN Word word(std::size_t index) const {
    return between(index * word_bits, index * word_bits, size);
  }
  PACTRAIN_FN std::size_t slot(std::size_t position) const { return position; }
};

/// Yes to every question.
struct Always {
  PACTRAIN_FN bool operator()(std::size_t) const { return true; }
};

/// Calls f(slot, position) for position `first + i`, whose slot is itself.
template <class F>
struct VisitAll {
  F f;
  std::size_t first;
  PACTRAIN_FN void operator()(std::size_t i) const { f(first + i, first + i); }
};

/// Position `first + i` if `keep` drops entry i; the first also answers for what was found before.
template <class Keep>
struct FirstDropped {
  Keep keep;
  std::size_t first;
  const std::size_t* before;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    const std::size_t found = i == 0 ? *before : ~std::size_t{0};
    return keep(i) ? found : Smallest{}(found, first + i);
  }
};

}  // namespace pactrain::kernel

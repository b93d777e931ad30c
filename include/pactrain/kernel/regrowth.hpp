// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/kernel/magnitude.hpp>

#include <cstddef>

namespace pactrain::kernel {

/// Those that are not among a set.
struct NotAmong {
  Among among;
  PACTRAIN_FN bool operator()(std::size_t i) const { return !among(i); }
};
/// 1 for those that are.
struct CountAmong {
  Among among;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const { return among(i) ? 1 : 0; }
};
/// Keeps what is in a set already, and the largest that are not.
template <class T>
struct KeepGrown {
  Among kept;
  KeepLargest<T> grown;
  PACTRAIN_FN bool operator()(std::size_t i) const { return kept(i) || grown(i); }
};
/// x[i] becomes +0.0 unless it is in both sets.
template <class T>
struct ClearUnlessBoth {
  Among a, b;
  T* x;
  PACTRAIN_FN void operator()(std::size_t i) const {
    if (!a(i) || !b(i)) x[i] = T{};
  }
};

}  // namespace pactrain::kernel

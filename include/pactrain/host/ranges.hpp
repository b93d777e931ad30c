// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/kernel/bits.hpp>

#include <algorithm>
#include <cstddef>
#include <span>

namespace pactrain {

/// Positions [first, first + n) in `count` ranges that meet at word edges, counted from `first`:
/// what threads of one executor share out, so that no two of them touch one word of a mask.
struct Ranges {
  std::size_t first, n, count;

  /// Less than this would not pay for waking a thread. An index may stand for a group of a mask's
  /// entries.
  static constexpr std::size_t indices_a_thread = 256, entries_a_thread = 16384;

  /// As many ranges as there are threads, if each then has `enough`.
  [[nodiscard]] static Ranges cut(std::size_t first, std::size_t n, std::size_t enough,
                                  std::size_t threads) {
    return {first, n, std::clamp<std::size_t>(n / enough, 1, threads)};
  }
  /// Where a range begins; range `count` is the end.
  [[nodiscard]] std::size_t begin(std::size_t range) const {
    if (range == count) return n;
    const std::size_t position = first + n / count * range;
    return std::max(position / kernel::word_bits * kernel::word_bits, first) - first;
  }
  /// The values of a range, of those at [first, first + n).
  template <class T>
  [[nodiscard]] std::span<T> of(std::span<T> values, std::size_t range) const {
    return values.subspan(begin(range), begin(range + 1) - begin(range));
  }
};

}  // namespace pactrain

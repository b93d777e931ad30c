// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain {

/// The smallest magnitude of type T that is not below `value`, which is not negative.
template <GradientValue T>
PACTRAIN_FN constexpr bits_t<T> least_magnitude(double value) {
  using A = arithmetic_t<T>;
  constexpr A largest = bits_as<A>(static_cast<bits_t<A>>(exponent_mask<A> - 1));
  if (value > static_cast<double>(largest)) return exponent_mask<T>;
  const T nearest(static_cast<A>(value));
  const bool rounded_down = static_cast<double>(static_cast<A>(nearest)) < value;
  return static_cast<bits_t<T>>(magnitude(nearest) + (rounded_down ? 1 : 0));
}

}  // namespace pactrain

namespace pactrain::kernel {

/// Which entries of a run take part: those whose bit is set, the run's first entry at position
/// `first`; all of them where there are no words.
struct Among {
  const Word* words = nullptr;
  std::size_t first = 0;
  PACTRAIN_FN bool operator()(std::size_t i) const {
    const std::size_t position = first + i;
    return words == nullptr || (words[position / word_bits] >> position % word_bits & 1) != 0;
  }
};

/// Where a run is cut: entries above `bar` are kept, and those equal to it at indices < `below`.
template <class T>
struct Cut {
  bits_t<T> bar = 0;
  std::size_t below = 0;
};

/// Keeps magnitudes of at least `bar`; NaNs, which lie above infinity, too.
template <class T>
struct KeepAtLeast {
  const T* x;
  bits_t<T> bar;
  PACTRAIN_FN bool operator()(std::size_t i) const { return magnitude(x[i]) >= bar; }
};

/// Keeps magnitudes above `bar`.
template <class T>
struct KeepAbove {
  const T* x;
  bits_t<T> bar;
  PACTRAIN_FN bool operator()(std::size_t i) const { return magnitude(x[i]) > bar; }
};

/// Keeps what lies above a cut.
template <class T>
struct KeepLargest {
  const T* x;
  Among among;
  Cut<T> cut;
  PACTRAIN_FN bool operator()(std::size_t i) const {
    // Without branches: which entries are kept cannot be guessed.
    const bits_t<T> size = magnitude(x[i]);
    const auto above = static_cast<unsigned>(size > cut.bar);
    const auto tied = static_cast<unsigned>(size == cut.bar) & static_cast<unsigned>(i < cut.below);
    return (static_cast<unsigned>(among(i)) & (above | tied)) != 0;
  }
  /// The answers for 64 entries: by one comparison where all take part and ties all go one way.
  PACTRAIN_FN Word word_at(std::size_t i) const {
    if (among.words == nullptr) {
      if (i >= cut.below) return word_of_answers(KeepAbove<T>{x, cut.bar}, i);
      if (i + word_bits <= cut.below) return word_of_answers(KeepAtLeast<T>{x, cut.bar}, i);
    }
    return word_of_answers(*this, i);
  }
};

/// 1 for entries that take part and whose magnitude is at least `bar`.
template <class T>
struct CountAtLeast {
  const T* x;
  Among among;
  bits_t<T> bar;
  PACTRAIN_FN bool counts(T value) const { return magnitude(value) >= bar; }
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    return static_cast<std::size_t>(counts(x[i])) & static_cast<std::size_t>(among(i));
  }
};

/// 1 for entries that take part and whose magnitude is `bar`.
template <class T>
struct CountEqual {
  const T* x;
  Among among;
  bits_t<T> bar;
  PACTRAIN_FN bool counts(T value) const { return magnitude(value) == bar; }
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    return static_cast<std::size_t>(counts(x[i])) & static_cast<std::size_t>(among(i));
  }
};

/// 1 for entries that take no part and yet differ from zero.
template <class T>
struct CountOutside {
  const T* x;
  Among among;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    return static_cast<std::size_t>(magnitude(x[i]) != 0) & static_cast<std::size_t>(!among(i));
  }
};

/// The index of a NaN, `none` for any other entry.
template <class T>
struct NanIndex {
  const T* x;
  std::size_t none;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    return magnitude(x[i]) > exponent_mask<T> ? i : none;
  }
};

}  // namespace pactrain::kernel

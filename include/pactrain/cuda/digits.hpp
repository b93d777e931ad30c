// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/cuda/reduce.hpp>

#include <cstddef>
#include <cstdint>

/// The k-th largest magnitude, by a digit of its bits after the other, from the top: a histogram of
/// the digit among the entries that share the digits found so far tells the next one. Counts are
/// integers, so the result is exact and does not depend on any order.
namespace pactrain::gpu {

inline constexpr unsigned digit_bits = 11, digit_values = 1u << digit_bits;

/// What is known after some digits: the upper bits of the k-th largest magnitude, how many entries
/// lie above all that share them, and which of those that do is wanted, the largest being number 1.
template <class T>
struct Found {
  bits_t<T> bar;
  unsigned long long above, k;
};

/// Where a digit stands in a magnitude.
struct Digit {
  unsigned shift, bits;
  template <class B>
  PACTRAIN_FN unsigned of(B magnitude) const {
    return static_cast<unsigned>(magnitude >> shift) & ((1u << bits) - 1);
  }
  /// Are the digits above this one the same?
  template <class B>
  PACTRAIN_FN bool same_above(B a, B b) const {
    return a >> shift >> bits == b >> shift >> bits;
  }
};

/// Adds a piece's entries to the histogram of a digit.
template <class T>
struct CountDigits {
  static constexpr unsigned lanes = 256;
  struct Shared {
    std::uint32_t counts[digit_values];
  };
  Pieces pieces;
  const T* x;
  Digit digit;
  const Found<T>* found;
  unsigned long long* counts;

  template <class Team>
  PACTRAIN_FN void operator()(Team team, std::size_t piece, Shared& shared) const {
    team.each([&](unsigned lane) {
      for (unsigned i = lane; i < digit_values; i += lanes) shared.counts[i] = 0;
    });
    team.each([&](unsigned lane) {
      const T* const values = x + pieces.begin(piece);
      const bits_t<T> bar = found->bar;
      for (std::size_t i = lane; i < pieces.size(piece); i += lanes) {
        const bits_t<T> size = magnitude(values[i]);
        if (digit.same_above(size, bar)) team.count(&shared.counts[digit.of(size)]);
      }
    });
    team.each([&](unsigned lane) {
      for (unsigned i = lane; i < digit_values; i += lanes) {
        if (shared.counts[i] != 0) team.add(&counts[i], shared.counts[i]);
      }
    });
  }
};

/// The histogram from its largest digit down.
struct CountsDownwards {
  const unsigned long long* counts;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    return static_cast<std::size_t>(counts[digit_values - 1 - i]);
  }
};

/// Writes what is known with one digit more; one of the digits does.
template <class T>
struct FindDigit {
  CountsDownwards counts;
  const std::size_t* before;
  Digit digit;
  const Found<T>* found;
  Found<T>* next;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const unsigned long long larger = before[i];
    if (larger >= found->k || larger + counts(i) < found->k) return;
    const auto value = static_cast<bits_t<T>>(digit_values - 1 - i);
    *next = {static_cast<bits_t<T>>(found->bar | static_cast<bits_t<T>>(value << digit.shift)),
             found->above + larger, found->k - larger};
  }
};

}  // namespace pactrain::gpu

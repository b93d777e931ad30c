// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// A double whose bits order, as a magnitude, as signed numbers do: what ranks magnitudes ranks
/// them. Zeros are equal, and so are neighbours among doubles that differ in the last bit alone.
template <GradientValue T>
PACTRAIN_FN constexpr double key_of(const T& score) {
  constexpr std::uint64_t zero = std::uint64_t{1} << (8 * sizeof(T) - 1);
  const std::uint64_t size = magnitude(score);
  const bool negative = (bits_as<bits_t<T>>(score) & zero) != 0;
  const std::uint64_t ordered = negative ? zero - size : zero + size;
  return bits_as<double>(sizeof(T) == 8 ? ordered >> 1 : ordered);
}

/// keys[i] = the key of score i.
template <class T>
struct KeyScores {
  const T* scores;
  double* keys;
  PACTRAIN_FN void operator()(std::size_t i) const { keys[i] = key_of(scores[i]); }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace pactrain::test {

/// Entry `i` of rank `rank`: magnitudes from 2^-6 to 2^6, so that a sum's bits tell its order; for
/// integers small enough that four ranks do not overflow.
template <ReducibleValue T>
T value_of(int rank, std::size_t i) {
  const std::uint64_t random = kernel::mix(i, static_cast<std::uint64_t>(rank) + 17);
  if constexpr (std::integral<T>) {
    const auto small = static_cast<int>(random % 61);
    return static_cast<T>(std::signed_integral<T> ? small - 30 : small);
  } else {
    const int exponent = static_cast<int>(random % 13) - 6;
    const double mantissa = 1.0 + static_cast<double>(random >> 20 & 0xffffff) * 0x1p-24;
    const double value = std::ldexp((random >> 60 & 1) != 0 ? -mantissa : mantissa, exponent);
    return static_cast<T>(static_cast<arithmetic_t<T>>(value));
  }
}

template <class T>
std::vector<T> values_of(int rank, std::size_t n) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = value_of<T>(rank, i);
  return values;
}

/// What a reduction over ranks must give, bit for bit: a loop in rank order, one rounding.
template <class T, class Op>
T reduced(std::span<const T> contributions, Op) {
  using A = arithmetic_t<T>;
  A result = static_cast<A>(contributions[0]);
  for (const T x : contributions.subspan(1)) {
    if constexpr (std::same_as<Op, Max>) result = std::max(result, static_cast<A>(x));
    else result = static_cast<A>(result + static_cast<A>(x));
  }
  if constexpr (std::same_as<Op, Mean>) result /= static_cast<A>(contributions.size());
  return static_cast<T>(result);
}

template <class T, class Op>
std::vector<T> reduced_values(int ranks, std::size_t n, Op op) {
  std::vector<T> contributions(static_cast<std::size_t>(ranks)), values(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (int r = 0; r < ranks; ++r) contributions[static_cast<std::size_t>(r)] = value_of<T>(r, i);
    values[i] = reduced(std::span<const T>(contributions), op);
  }
  return values;
}

/// Are the vectors the same, bit for bit?
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Calls `f.operator()<T>()` for each type.
template <class... T, class F>
void for_types(F f) {
  (f.template operator()<T>(), ...);
}
template <class F>
void for_gradient_types(F f) {
  for_types<float, double, float16, bfloat16>(f);
}
template <class F>
void for_reducible_types(F f) {
  for_gradient_types(f);
  for_types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>(f);
}

}  // namespace pactrain::test

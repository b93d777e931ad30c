// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// A double as a float, rounded to the odd one of its neighbours unless it is a float: what is
/// rounded again, to fewer digits, is then rounded as if from the double.
PACTRAIN_FN constexpr float round_to_odd(double x) {
  const float near = static_cast<float>(x);
  const auto bits = bits_as<std::uint32_t>(near);
  if (static_cast<double>(near) == x || !(x == x) || bits % 2 != 0) return near;
  const bool below = x < 0 ? static_cast<double>(near) > x : static_cast<double>(near) < x;
  return bits_as<float>(below ? bits + 1 : bits - 1);
}

/// A value in another type, rounded once, to nearest even.
template <class To, class From>
PACTRAIN_FN constexpr To cast(From x) {
  if constexpr (std::same_as<From, double> && sizeof(To) == 2) return To(round_to_odd(x));
  else return static_cast<To>(static_cast<arithmetic_t<To>>(static_cast<arithmetic_t<From>>(x)));
}

/// to[i] = from[i] in another type.
template <class From, class To>
struct Convert {
  const From* from;
  To* to;
  PACTRAIN_FN void operator()(std::size_t i) const { to[i] = cast<To>(from[i]); }
};

/// to[i] += from[i].
template <class From, class To>
struct AddTo {
  const From* from;
  To* to;
  PACTRAIN_FN void operator()(std::size_t i) const {
    to[i] = static_cast<To>(to[i] + cast<To>(from[i]));
  }
};

/// to[i] -= from[i].
template <class A>
struct Subtract {
  const A* from;
  A* to;
  PACTRAIN_FN void operator()(std::size_t i) const { to[i] = static_cast<A>(to[i] - from[i]); }
};

/// values[i] = sum[i] / divisor, in another type.
template <class A, class T>
struct Divide {
  const A* sum;
  A divisor;
  T* values;
  PACTRAIN_FN void operator()(std::size_t i) const {
    values[i] = static_cast<T>(static_cast<A>(sum[i] / divisor));
  }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>

#include <limits>

namespace pactrain {

/// The bits of the smallest magnitude of type T that is not below `value` >= 0; those of infinity
/// where none is.
template <GradientValue T>
[[nodiscard]] bits_t<T> least_bits(double value) {
  using A = arithmetic_t<T>;
  if (value > static_cast<double>(std::numeric_limits<A>::max())) return exponent_mask<T>;
  const T nearest(static_cast<A>(value));
  const bool rounded_down = static_cast<double>(static_cast<A>(nearest)) < value;
  return static_cast<bits_t<T>>(magnitude(nearest) + (rounded_down ? 1 : 0));
}

/// The bits of the largest finite magnitude of type T that is not above `value` >= 0.
template <GradientValue T>
[[nodiscard]] bits_t<T> greatest_bits(double value) {
  const bits_t<T> least = least_bits<T>(value);
  const T at_least = bits_as<T>(least);
  const bool above = least == exponent_mask<T> ||
                     static_cast<double>(static_cast<arithmetic_t<T>>(at_least)) > value;
  return static_cast<bits_t<T>>(least - (above ? 1 : 0));
}

}  // namespace pactrain

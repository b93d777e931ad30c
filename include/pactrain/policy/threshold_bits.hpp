// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/magnitude.hpp>

#include <limits>

namespace pactrain {

/// The bits of the largest finite magnitude of type T that is not above `value` >= 0.
template <GradientValue T>
[[nodiscard]] bits_t<T> greatest_bits(double value) {
  const bits_t<T> least = least_magnitude<T>(value);
  const T at_least = bits_as<T>(least);
  const bool above = least == exponent_mask<T> ||
                     static_cast<double>(static_cast<arithmetic_t<T>>(at_least)) > value;
  return static_cast<bits_t<T>>(least - (above ? 1 : 0));
}

}  // namespace pactrain

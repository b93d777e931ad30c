// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace pactrain {

/// How many of `n` entries a fraction in [0, 1] names: floor(fraction * n), as RigL's code counts.
/// The product is first raised by 2^-48 of itself, so that 0.1 + 0.2 of 10 is 3 and 1 - 0.9 of 10
/// is 1, as on paper, though neither sum is exact in binary.
[[nodiscard]] inline std::size_t fraction_of(std::size_t n, double fraction) {
  const double exact = fraction * static_cast<double>(n);
  return std::min(n, static_cast<std::size_t>(std::floor(exact + exact * 0x1p-48)));
}

/// How many of `n` entries are kept where that is to be a fraction of them: at least one, where
/// there is one.
[[nodiscard]] inline std::size_t kept_of(std::size_t n, double fraction) {
  return std::min(n, std::max<std::size_t>(1, fraction_of(n, fraction)));
}

/// Throws `PreconditionError` unless the sparsity called `name` lies in [0, 1).
inline void expects_sparsity(double sparsity, const char* name) {
  expects(sparsity >= 0 && sparsity < 1, [&] {
    return std::string(name) + " is " + std::to_string(sparsity) +
           " (it is the share of entries that is pruned); choose one in [0, 1)";
  });
}

/// Throws `PreconditionError` unless `fraction` is one that can be kept.
inline void expects_fraction(double fraction) {
  expects(fraction > 0 && fraction <= 1, [&] {
    return "the fraction is " + std::to_string(fraction) +
           " (it is the share of entries that is kept); choose one in (0, 1]";
  });
}

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/random.hpp>
#include <pactrain/kernel/ternary.hpp>
#include <pactrain/kernel/units.hpp>

#include <cstddef>

namespace pactrain::simd::portable {

/// What codecs do with runs of floats where there are no vector units to know of: nothing is done
/// ahead, so that the kernels do all.
struct Codes {
  template <class... Args>
  static std::size_t run(const Args&...) {
    return 0;
  }
  template <class... Args>
  static std::size_t encode(const Args&...) {
    return 0;
  }
  template <class... Args>
  static std::size_t decode(const Args&...) {
    return 0;
  }
  template <class... Args>
  static std::size_t digits(const Args&...) {
    return 0;
  }
  template <class... Args>
  static std::size_t add_digits(const Args&...) {
    return 0;
  }
  template <class... Args>
  static std::size_t add_moments(const Args&...) {
    return 0;
  }
  template <class Rule>
  static auto measure(const Rule& rule, const float* x, std::size_t n) {
    return rule.measure(x, n);
  }
  static kernel::Spread spread(const float* x, std::size_t n, bool with_squares) {
    return kernel::spread_of(x, n, with_squares);
  }
  static void uniforms(Random random, std::size_t part, std::size_t group, std::size_t count,
                       float* u) {
    for (std::size_t g = 0; g < count; ++g) {
      pactrain::uniforms(random, part, group + g, u + 16 * g);
    }
  }
};

}  // namespace pactrain::simd::portable

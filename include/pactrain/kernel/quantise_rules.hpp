// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/codes.hpp>
#include <pactrain/kernel/units.hpp>

#include <cstddef>
#include <cstdint>

/// Rules (see quantise.hpp) that executors may know faster forms of.
namespace pactrain::kernel {

/// The largest magnitude of a block, infinities and NaNs included; NaN where it is one of them.
struct LargestMagnitude {
  static constexpr std::size_t most_numbers = 1;
  PACTRAIN_FN static constexpr bool draws() { return false; }
  template <class S>
  struct Moments {
    bits_t<S> largest;
  };
  template <class S>
  PACTRAIN_FN Moments<S> measure(const S* x, std::size_t n) const {
    return {largest_magnitude<false>(x, n)};
  }
  template <class M>
  PACTRAIN_FN M merge(M a, M b) const {
    return a.largest < b.largest ? b : a;
  }
  template <class S>
  PACTRAIN_FN void finish(Moments<S> m, std::size_t, arithmetic_t<S>* numbers) const {
    using A = arithmetic_t<S>;
    numbers[0] = m.largest < exponent_mask<S> ? cast<A>(bits_as<S>(m.largest)) : quiet_nan<A>;
  }
};

/// A value as a byte: value / largest * 127, to the nearest.
struct Int8Rule : LargestMagnitude {
  PACTRAIN_FN static constexpr std::size_t numbers() { return 1; }
  PACTRAIN_FN static constexpr unsigned bits() { return 8; }
  template <class A>
  PACTRAIN_FN std::uint32_t code(A x, const A* numbers, float) const {
    const A largest = numbers[0];
    if (!(largest > A(0))) return 0;
    return static_cast<std::uint32_t>(round_to_even(x / largest * A(127))) & 0xff;
  }
  template <class A>
  PACTRAIN_FN A value(std::uint32_t code, const A* numbers) const {
    return static_cast<A>(sign_extended(code, 8)) / A(127) * numbers[0];
  }
};

/// A value as a nibble from -8 to 7: value * `scale`, to the nearest, where the scale is given,
/// else value / largest * 8. What is beyond is cut: the largest magnitude, where positive, to 7/8.
struct Int4Rule : LargestMagnitude {
  double scale;
  PACTRAIN_FN explicit constexpr Int4Rule(double given) : scale(given) {}
  PACTRAIN_FN constexpr std::size_t numbers() const { return scale > 0 ? 0 : 1; }
  PACTRAIN_FN static constexpr unsigned bits() { return 4; }
  template <class A>
  PACTRAIN_FN std::uint32_t code(A x, const A* numbers, float) const {
    const A largest = numbers[0];
    A steps = A(0);
    if (scale > 0) steps = x * static_cast<A>(scale);
    else if (largest > A(0)) steps = x / largest * A(8);
    if (!is_finite(x)) steps = A(0);
    steps = steps > A(7) ? A(7) : steps < A(-8) ? A(-8) : steps;
    return static_cast<std::uint32_t>(round_to_even(steps)) & 0xf;
  }
  template <class A>
  PACTRAIN_FN A value(std::uint32_t code, const A* numbers) const {
    const auto steps = static_cast<A>(sign_extended(code, 4));
    return scale > 0 ? steps / static_cast<A>(scale) : steps / A(8) * numbers[0];
  }
};

/// A value as its sign, 0 for what is not negative; with `zeros`, 2 for a zero. The numbers are the
/// mean magnitude or, with `two_means`, the means of what is not negative and of what is.
struct SignRule {
  static constexpr std::size_t most_numbers = 2;
  PACTRAIN_FN static constexpr bool draws() { return false; }
  bool two_means = false, zeros = false;

  PACTRAIN_FN constexpr std::size_t numbers() const { return two_means ? 2 : 1; }
  PACTRAIN_FN constexpr unsigned bits() const { return zeros ? 2 : 1; }

  /// Sums of magnitudes, of all values or of those on each side; how many values are on the second
  /// side, and how many are zero; NaN in the first sum where one of them is not finite.
  template <class S>
  struct Moments {
    double sum, negative_sum;
    std::size_t negative, zero;
  };
  /// Sums under way: value j goes to lane j modulo 8, an order that vectors can follow.
  struct Sums {
    static constexpr std::size_t lanes = 8;
    double sum[lanes] = {}, negative_sum[lanes] = {};
    std::size_t negative = 0, zero = 0;
    bool finite = true;
  };
  /// Adds values first ... n - 1.
  template <class S>
  PACTRAIN_FN void add(Sums& sums, const S* x, std::size_t first, std::size_t n) const {
    for (std::size_t j = first; j < n; ++j) {
      const auto value = static_cast<double>(cast<arithmetic_t<S>>(x[j]));
      const std::size_t lane = j % Sums::lanes;
      sums.finite = sums.finite && is_finite(x[j]);
      if (two_means && value < 0) sums.negative_sum[lane] -= value;
      else sums.sum[lane] += value < 0 ? -value : value;
      sums.negative += value < 0 ? 1 : 0;
      sums.zero += magnitude(x[j]) == 0 ? 1 : 0;
    }
  }
  template <class S>
  PACTRAIN_FN static Moments<S> total(const Sums& sums) {
    Moments<S> m{0, 0, sums.negative, sums.zero};
    for (std::size_t lane = 0; lane < Sums::lanes; ++lane) {
      m.sum += sums.sum[lane];
      m.negative_sum += sums.negative_sum[lane];
    }
    if (!sums.finite) m.sum = quiet_nan<double>;
    return m;
  }
  template <class S>
  PACTRAIN_FN Moments<S> measure(const S* x, std::size_t n) const {
    Sums sums;
    add(sums, x, 0, n);
    return total<S>(sums);
  }
  template <class M>
  PACTRAIN_FN M merge(M a, M b) const {
    return {a.sum + b.sum, a.negative_sum + b.negative_sum, a.negative + b.negative,
            a.zero + b.zero};
  }
  template <class S>
  PACTRAIN_FN void finish(Moments<S> m, std::size_t n, arithmetic_t<S>* numbers) const {
    using A = arithmetic_t<S>;
    const std::size_t live = zeros ? n - m.zero : n;
    if (two_means) {
      numbers[0] = mean<A>(m.sum, live - m.negative);
      numbers[1] = is_finite(m.sum) ? -mean<A>(m.negative_sum, m.negative) : quiet_nan<A>;
    } else {
      numbers[0] = mean<A>(m.sum, live);
    }
  }
  template <class A>
  PACTRAIN_FN std::uint32_t code(A x, const A*, float) const {
    if (zeros && magnitude(x) == 0) return 2;
    return x < A(0) ? 1 : 0;
  }
  template <class A>
  PACTRAIN_FN A value(std::uint32_t code, const A* numbers) const {
    if (code == 2) return is_finite(numbers[0]) ? A(0) : quiet_nan<A>;
    return code == 0 ? numbers[0] : two_means ? numbers[1] : -numbers[0];
  }

 private:
  template <class A>
  PACTRAIN_FN static A mean(double sum, std::size_t n) {
    if (sum == 0 || n == 0) return static_cast<A>(sum);
    return static_cast<A>(sum / static_cast<double>(n));
  }
};

}  // namespace pactrain::kernel

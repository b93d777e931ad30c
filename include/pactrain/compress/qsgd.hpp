// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/block_codec.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/units.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pactrain {

namespace kernel {

/// A value as level + `levels`, the level being value / norm * levels, rounded up or down by
/// chance.
struct QsgdRule {
  static constexpr std::size_t most_numbers = 1;
  PACTRAIN_FN static constexpr bool draws() { return true; }
  std::uint32_t levels;
  bool by_maximum;
  unsigned width;

  PACTRAIN_FN static constexpr std::size_t numbers() { return 1; }
  PACTRAIN_FN constexpr unsigned bits() const { return width; }

  template <class S>
  struct Moments {
    bits_t<S> largest;
    double squares;
  };
  template <class S>
  PACTRAIN_FN Moments<S> measure(const S* x, std::size_t n) const {
    Moments<S> m{largest_magnitude<false>(x, n), 0};
    for (std::size_t j = 0; j < n && !by_maximum; ++j) {
      const auto value = static_cast<double>(cast<arithmetic_t<S>>(x[j]));
      m.squares += value * value;
    }
    return m;
  }
  template <class M>
  PACTRAIN_FN M merge(M a, M b) const {
    return {a.largest < b.largest ? b.largest : a.largest, a.squares + b.squares};
  }
  template <class S>
  PACTRAIN_FN void finish(Moments<S> m, std::size_t n, arithmetic_t<S>* numbers) const {
    using A = arithmetic_t<S>;
    constexpr auto most = static_cast<double>(largest_finite<A>);
    const A largest = cast<A>(bits_as<S>(m.largest));
    double norm = static_cast<double>(largest);
    if (!by_maximum) {
      // Any norm that no magnitude exceeds is unbiased; squares of doubles may leave their range.
      const bool in_range = m.squares > 1e-280 && m.squares < 1e300;
      norm = in_range ? std::sqrt(m.squares) : norm * std::sqrt(static_cast<double>(n));
    }
    numbers[0] = norm < most ? static_cast<A>(norm) : largest_finite<A>;
    if (numbers[0] < largest) numbers[0] = largest;
    if (m.largest >= exponent_mask<S>) numbers[0] = quiet_nan<A>;
  }
  template <class A>
  PACTRAIN_FN std::uint32_t code(A x, const A* numbers, float u) const {
    const A norm = numbers[0];
    if (!(norm > A(0))) return levels;
    const A level = bits_as<A>(magnitude(x)) / norm * static_cast<A>(levels);
    auto whole = static_cast<std::uint32_t>(level);
    whole += static_cast<A>(u) < level - static_cast<A>(whole) ? 1 : 0;
    if (whole > levels) whole = levels;
    return x < A(0) ? levels - whole : levels + whole;
  }
  template <class A>
  PACTRAIN_FN A value(std::uint32_t code, const A* numbers) const {
    const int level = static_cast<int>(code) - static_cast<int>(levels);
    return static_cast<A>(level) / static_cast<A>(levels) * numbers[0];
  }
};

}  // namespace kernel

/// Values travel as integers from -levels to levels, in steps of 1 / levels of the L2 norm of
/// `block` values of a parameter, rounded up or down by chance, so that the mean over draws is the
/// value: QSGD (Alistarh et al., arXiv 1610.02132), with codes of fixed width instead of its Elias
/// coding: ceil(log2(2 levels + 1)) bits. A block's expected square error is at most
/// min(n / levels^2, sqrt(n) / levels) times its L2^2. Wires are gathered. A zero stays zero; a
/// block with a non-finite value decodes to NaN.
struct QSGD {
  static constexpr bool additive = false;
  std::size_t levels = 7;   ///< steps on each side of zero, 1 to 2^15 - 1; 7: four bits a value
  std::size_t block = 512;  ///< values under one norm, at least 1
  bool by_maximum = false;  ///< steps are shares of the largest magnitude: errors vary less

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}('Q')(levels)(block)(by_maximum).value();
  }

  template <Executor E>
  class on : public BlockCodec<kernel::QsgdRule, E> {
   public:
    explicit on(const QSGD& options)
        : BlockCodec<kernel::QsgdRule, E>(
              {static_cast<std::uint32_t>(options.levels), options.by_maximum,
               static_cast<unsigned>(std::bit_width(2 * options.levels))},
              options.block) {
      expects(options.levels >= 1 && options.levels < (std::size_t{1} << 15), [&] {
        return "QSGD has " + std::to_string(options.levels) +
               " levels (steps on each side of zero); choose 1 to 32767";
      });
      expects(options.block > 0,
              "a block of QSGD is empty (it is what shares a norm); choose 128 to 8192 values");
    }
  };
};

}  // namespace pactrain

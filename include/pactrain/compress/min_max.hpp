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

#include <cstddef>
#include <cstdint>
#include <string>

namespace pactrain {

namespace kernel {

/// A value as the number of the step, of 2^width - 1 from a block's least value to its greatest.
struct MinMaxRule {
  static constexpr std::size_t most_numbers = 2;
  unsigned width;
  bool stochastic;

  PACTRAIN_FN static constexpr std::size_t numbers() { return 2; }
  PACTRAIN_FN constexpr unsigned bits() const { return width; }
  PACTRAIN_FN constexpr bool draws() const { return stochastic; }

  template <class S>
  struct Moments {
    arithmetic_t<S> least, greatest;
    bool finite;
  };
  template <class S>
  PACTRAIN_FN Moments<S> measure(const S* x, std::size_t n) const {
    const auto first = cast<arithmetic_t<S>>(x[0]);
    Moments<S> m{first, first, true};
    for (std::size_t j = 0; j < n; ++j) {
      const auto value = cast<arithmetic_t<S>>(x[j]);
      m.least = value < m.least ? value : m.least;
      m.greatest = m.greatest < value ? value : m.greatest;
      m.finite = m.finite && is_finite(x[j]);
    }
    return m;
  }
  template <class M>
  PACTRAIN_FN M merge(M a, M b) const {
    return {b.least < a.least ? b.least : a.least,
            a.greatest < b.greatest ? b.greatest : a.greatest, a.finite && b.finite};
  }
  template <class S>
  PACTRAIN_FN void finish(Moments<S> m, std::size_t, arithmetic_t<S>* numbers) const {
    using A = arithmetic_t<S>;
    numbers[0] = m.finite ? (m.greatest - m.least) / static_cast<A>(top()) : quiet_nan<A>;
    numbers[1] = m.least;
  }
  template <class A>
  PACTRAIN_FN std::uint32_t code(A x, const A* numbers, float u) const {
    const A unit = numbers[0];
    if (!(unit > A(0)) || !is_finite(unit)) return 0;
    const A r = stochastic ? static_cast<A>(u) : A(0.5);
    const auto level = static_cast<std::uint32_t>((x - numbers[1]) / unit + r);
    return level < top() ? level : top();
  }
  template <class A>
  PACTRAIN_FN A value(std::uint32_t code, const A* numbers) const {
    return numbers[1] + numbers[0] * static_cast<A>(code);
  }

 private:
  PACTRAIN_FN constexpr std::uint32_t top() const { return (1u << width) - 1; }
};

}  // namespace kernel

/// Values travel in `bits` bits each, as the nearest of 2^bits evenly spaced numbers from the least
/// to the greatest of `block` values of a parameter: the quantiser of CGX (Markov et al., arXiv
/// 2111.08617). Off by at most half a step, (max - min) / (2^bits - 1) / 2. Wires are gathered, so
/// that values are quantised once, where CGX's scatter-reduce does it twice. Zero is a step like
/// any other: zeros come back as up to half a step, unless the block is constant. A block with a
/// non-finite value, or whose range overflows, decodes to NaN.
struct MinMax {
  static constexpr bool additive = false;
  unsigned bits = 4;        ///< of a value, 1 to 8
  std::size_t block = 512;  ///< values that share a range, at least 1
  bool stochastic = false;  ///< round up or down by chance: off by at most a step, and unbiased

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}('M')(bits)(block)(stochastic).value();
  }

  template <Executor E>
  class on : public BlockCodec<kernel::MinMaxRule, E> {
   public:
    explicit on(const MinMax& options)
        : BlockCodec<kernel::MinMaxRule, E>({options.bits, options.stochastic}, options.block) {
      expects(options.bits >= 1 && options.bits <= 8, [&] {
        return "MinMax has " + std::to_string(options.bits) + " bits a value; choose 1 to 8";
      });
      expects(options.block > 0,
              "a block of MinMax is empty (it is what shares a range); choose 128 to 1024 values");
    }
  };
};

}  // namespace pactrain

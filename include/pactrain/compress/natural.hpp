// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/block_codec.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain {

namespace kernel {

/// A value as its sign and the exponent of the float below or above it that is a power of two.
struct NaturalRule {
  static constexpr std::size_t most_numbers = 1;
  PACTRAIN_FN static constexpr bool draws() { return true; }
  PACTRAIN_FN static constexpr std::size_t numbers() { return 0; }
  PACTRAIN_FN static constexpr unsigned bits() { return 9; }

  template <class S>
  struct Moments {};
  template <class S>
  PACTRAIN_FN Moments<S> measure(const S*, std::size_t) const {
    return {};
  }
  template <class M>
  PACTRAIN_FN M merge(M a, M) const {
    return a;
  }
  template <class S>
  PACTRAIN_FN void finish(Moments<S>, std::size_t, arithmetic_t<S>*) const {}

  template <class A>
  PACTRAIN_FN std::uint32_t code(A x, const A*, float u) const {
    if (!is_finite(x)) return 255;
    constexpr auto most = static_cast<A>(largest_finite<float>);
    const A cut = x > most ? most : x < -most ? -most : x;
    const auto bits = bits_as<std::uint32_t>(static_cast<float>(cut));
    const std::uint32_t exponent = bits >> 23 & 0xff, rest = bits & 0x7fffff;
    // Above 2^127 there is no power to round up to.
    const bool up = u < static_cast<float>(rest) * 0x1p-23f && exponent < 254;
    const std::uint32_t size = exponent + (up ? 1 : 0);
    return size | (size > 0 ? bits >> 31 << 8 : 0);
  }
  template <class A>
  PACTRAIN_FN A value(std::uint32_t code, const A*) const {
    const std::uint32_t exponent = code & 0xff;
    if (exponent == 255) return quiet_nan<A>;
    return static_cast<A>(bits_as<float>(code >> 8 << 31 | exponent << 23));
  }
};

}  // namespace kernel

/// Values travel as powers of two, in nine bits: the sign and the exponent of a float. A value is
/// rounded to the power below or above it by chance, so that the mean over draws is the value, with
/// a variance of at most an eighth of its square: natural compression (Horvath et al., arXiv
/// 1905.10988). Wires are gathered. What is below 2^-126 becomes that or zero, unbiased as well;
/// what is above 2^127 becomes that. Doubles are rounded to floats first. A zero stays zero, a
/// non-finite value becomes NaN.
struct Natural {
  static constexpr bool additive = false;

  [[nodiscard]] std::uint64_t fingerprint() const { return 'N'; }

  template <Executor E>
  class on : public BlockCodec<kernel::NaturalRule, E> {
   public:
    explicit on(const Natural&) : BlockCodec<kernel::NaturalRule, E>({}, 1024) {}
  };
};

}  // namespace pactrain

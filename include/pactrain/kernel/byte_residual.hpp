// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/codes.hpp>

#include <cstddef>
#include <cstdint>

/// Residuals stored in a byte an entry, as LoCo does (arXiv 2407.04480).
namespace pactrain::kernel {

/// `x` to the nearest integer of a byte, even on ties; what is beyond is cut, never wrapped.
template <class A>
PACTRAIN_FN constexpr std::int8_t saturated_byte(A x) {
  return static_cast<std::int8_t>(round_to_even(x > A(127) ? A(127) : x < A(-128) ? A(-128) : x));
}

/// The residual of a parameter: a byte means byte / scale or, without a scale, byte / 128 times the
/// number of its block, which `block` consecutive entries of the parameter share.
struct ByteResidual {
  std::int8_t* bytes;
  float* largest;  ///< by block
  std::size_t block;
  double scale;  ///< 0: by block

  /// How many blocks have some of entries first ... first + n - 1.
  [[nodiscard]] std::size_t touched(std::size_t first, std::size_t n) const {
    return n == 0 ? 0 : (first + n - 1) / block - first / block + 1;
  }
  /// What a byte of a block is to be multiplied by, and then divided by.
  template <class A>
  struct Unit {
    A times, divisor;
    PACTRAIN_FN A operator()(std::int8_t byte) const {
      return static_cast<A>(byte) / divisor * times;
    }
  };
  template <class A>
  PACTRAIN_FN Unit<A> unit(std::size_t number) const {
    if (scale > 0) return {A(1), static_cast<A>(scale)};
    return {static_cast<A>(largest[number]), A(128)};
  }
};

/// out[i] = gradient[i] + residual[i], for the entries of a piece that lie in a block: the index
/// counts the blocks that the piece touches.
template <class T, class A>
struct CompensateBytes {
  Piece<const T> piece;
  ByteResidual residual;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t number = piece.at / residual.block + i, begin = number * residual.block;
    const std::size_t end = begin + residual.block, last = piece.at + piece.size;
    const auto unit = residual.template unit<A>(number);
    for (std::size_t p = begin < piece.at ? piece.at : begin; p < end && p < last; ++p) {
      out[p - piece.at] = cast<A>(piece.data[p - piece.at]) + unit(residual.bytes[p]);
    }
  }
};

/// The residual of block i of a parameter, with a share gamma of what was missed; an entry where
/// that is not finite keeps its residual.
template <class A>
struct RememberBytes {
  Piece<const A> missed;
  A gamma;
  ByteResidual residual;

  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t begin = i * residual.block;
    const std::size_t end =
        missed.size - begin < residual.block ? missed.size : begin + residual.block;
    const auto unit = residual.template unit<A>(i);
    const A* const x = missed.data;
    std::int8_t* const bytes = residual.bytes;
    if (residual.scale > 0) {
      const auto scale = static_cast<A>(residual.scale);
      for (std::size_t p = begin; p < end; ++p) {
        bytes[p] = saturated_byte(now(unit(bytes[p]), x[p]) * scale);
      }
      return;
    }
    bits_t<A> most = 0;  // magnitudes, as integers, which vectors compare in any order
    for (std::size_t p = begin; p < end; ++p) {
      const bits_t<A> size = magnitude(now(unit(bytes[p]), x[p]));
      most = most < size ? size : most;
    }
    // One number for both passes, and for those who read.
    const A largest = bits_as<A>(most);
    constexpr float limit = largest_finite<float>;
    const auto shared = largest < A(limit) ? static_cast<float>(largest) : limit;
    const A divisor = shared > 0.0f ? static_cast<A>(shared) : A(1);
    for (std::size_t p = begin; p < end; ++p) {
      bytes[p] = saturated_byte(now(unit(bytes[p]), x[p]) / divisor * A(128));
    }
    residual.largest[i] = shared;
  }

 private:
  PACTRAIN_FN A now(A old, A lost) const {
    const A sum = (A(1) - gamma) * old + gamma * lost;
    return is_finite(sum) ? sum : old;
  }
};

/// x[i] = x[i] * factor, unless that is not finite.
template <class R>
struct Rescale {
  R* x;
  double factor;
  PACTRAIN_FN void operator()(std::size_t i) const {
    using A = arithmetic_t<R>;
    const R now = cast<R>(static_cast<A>(cast<A>(x[i]) * static_cast<A>(factor)));
    x[i] = is_finite(now) ? now : x[i];
  }
};

}  // namespace pactrain::kernel

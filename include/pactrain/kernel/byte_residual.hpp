// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
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

/// The residual of a model: a byte means byte / scale or, without a scale, byte / 128 times the
/// number of its block, `block` positions of the model sharing one.
struct ByteResidual {
  std::int8_t* bytes;
  float* largest;  ///< by block
  std::size_t size, block;
  double scale;  ///< 0: by block

  template <class A>
  PACTRAIN_FN A at(std::size_t position) const {
    const auto byte = static_cast<A>(bytes[position]);
    if (scale > 0) return byte / static_cast<A>(scale);
    return byte / A(128) * static_cast<A>(largest[position / block]);
  }
};

/// out[i] = gradient[i] + residual[first + i].
template <class T, class A>
struct CompensateBytes {
  const T* gradient;
  ByteResidual residual;
  std::size_t first;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    out[i] = cast<A>(gradient[i]) + residual.at<A>(first + i);
  }
};

/// The residual of entries first ... with a share gamma of what was missed; an entry where that is
/// not finite keeps its residual. An index is an entry or, where blocks have scales of their own, a
/// block: it then stores its other entries anew.
template <class A>
struct RememberBytes {
  const A* missed;
  std::size_t first, count;
  A gamma;
  ByteResidual residual;

  PACTRAIN_FN void operator()(std::size_t i) const {
    if (residual.scale > 0) {
      residual.bytes[first + i] = saturated_byte(now(first + i) * static_cast<A>(residual.scale));
      return;
    }
    const std::size_t block = first / residual.block + i, begin = block * residual.block;
    const std::size_t end =
        begin + residual.block < residual.size ? begin + residual.block : residual.size;
    A largest = A(0);
    for (std::size_t p = begin; p < end; ++p) {
      const A size = bits_as<A>(magnitude(now(p)));
      largest = largest < size ? size : largest;
    }
    // One number for both passes, and for those who read.
    constexpr float most = largest_finite<float>;
    const auto shared = largest < A(most) ? static_cast<float>(largest) : most;
    for (std::size_t p = begin; p < end; ++p) {
      const A steps = shared > 0.0f ? now(p) / static_cast<A>(shared) * A(128) : A(0);
      residual.bytes[p] = saturated_byte(steps);
    }
    residual.largest[block] = shared;
  }

 private:
  PACTRAIN_FN A now(std::size_t position) const {
    const A old = residual.at<A>(position);
    if (position < first || position >= first + count) return old;
    const A kept = gamma == A(1) ? A(0) : (A(1) - gamma) * old;
    const A sum = kept + gamma * missed[position - first];
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

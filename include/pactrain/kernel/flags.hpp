// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// Places of the two flags of a call.
inline constexpr std::size_t non_finite_flag = 0, stray_flag = 1;

/// The flags as one element of a float wire: NaN for a non-finite value, else 1 for a stray. Sums
/// and means of such elements are NaN or non-zero exactly if one of them is.
template <class W>
struct WriteFlags {
  const std::uint32_t* flags;
  W* element;
  PACTRAIN_FN void operator()(std::size_t) const {
    const float stray = flags[stray_flag] != 0 ? 1.0f : 0.0f;
    *element = cast<W>(flags[non_finite_flag] != 0 ? quiet_nan<float> : stray);
  }
};

/// The flags that an element carries, after the sum.
template <class W>
struct ReadFlags {
  const W* element;
  std::uint32_t* flags;
  PACTRAIN_FN void operator()(std::size_t) const {
    if (!is_finite(*element)) flags[non_finite_flag] = 1;
    else if (magnitude(*element) != 0) flags[stray_flag] = 1;
  }
};

/// A NaN in the element of the flags hides the strays of other ranks: there may be one.
struct SuspectStray {
  std::uint32_t* flags;
  PACTRAIN_FN void operator()(std::size_t) const { flags[stray_flag] |= flags[non_finite_flag]; }
};

/// The first element of a float wire becomes NaN where this rank has a non-finite value.
template <class W>
struct Poison {
  const std::uint32_t* flags;
  W* element;
  PACTRAIN_FN void operator()(std::size_t) const {
    if (flags[non_finite_flag] != 0) *element = cast<W>(quiet_nan<float>);
  }
};

/// flags[i] takes in the i-th word of a rank's.
struct UniteFlags {
  const std::byte* words;
  std::uint32_t* flags;
  PACTRAIN_FN void operator()(std::size_t i) const {
    flags[i] |= reinterpret_cast<const std::uint32_t*>(words)[i];
  }
};

/// flags[i] = is values[i], which another rank may have sent, not zero?
struct TakeFlags {
  const float* values;
  std::uint32_t* flags;
  PACTRAIN_FN void operator()(std::size_t i) const { flags[i] = values[i] != 0.0f ? 1 : 0; }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/flags.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// The magnitude of x[i], as an integer that orders as magnitudes do.
template <class T>
struct MagnitudeAt {
  const T* x;
  PACTRAIN_FN std::uint64_t operator()(std::size_t i) const { return magnitude(x[i]); }
};

/// A rank's head, three words: its largest magnitude as the bits of a double, its flags as bits (a
/// value that is not finite raises the first), and how many values differ from zero.
template <class T>
struct WriteHead {
  const std::uint64_t* largest;
  const std::uint32_t* flags;
  std::uint64_t entries;
  std::uint64_t* head;
  PACTRAIN_FN void operator()(std::size_t) const {
    const bool finite = *largest < exponent_mask<T>;
    const T value = bits_as<T>(static_cast<bits_t<T>>(finite ? *largest : 0));
    head[0] = bits_as<std::uint64_t>(static_cast<double>(static_cast<arithmetic_t<T>>(value)));
    head[1] = !finite || flags[non_finite_flag] != 0 ? 1u << non_finite_flag : 0u;
    if (flags[stray_flag] != 0) head[1] |= 1u << stray_flag;
    head[2] = entries;
  }
};
/// flags[i] = bit i of `bits`.
struct SetFlags {
  std::uint64_t bits;
  std::uint32_t* flags;
  PACTRAIN_FN void operator()(std::size_t i) const {
    flags[i] = static_cast<std::uint32_t>(bits >> i & 1);
  }
};

}  // namespace pactrain::kernel

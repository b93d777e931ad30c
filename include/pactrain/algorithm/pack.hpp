// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace pactrain {

namespace kernel {
/// f(i, i) shifted: slot and position of a set that keeps everything.
template <class F>
struct Every {
  F f;
  std::size_t first;
  PACTRAIN_FN void operator()(std::size_t i) const { f(first + i, first + i); }
};
/// flag |= found.
struct Raise {
  const std::uint32_t* found;
  std::uint32_t* flag;
  PACTRAIN_FN void operator()(std::size_t) const { *flag |= *found; }
};
}  // namespace kernel

/// The set of all positions, where a call needs no mask: slots are positions.
struct Everything {
  template <Executor E, class F>
  void visit(E& exec, std::size_t first, std::size_t last, F f) const {
    exec.for_each(last - first, kernel::Every<F>{f, first});
  }
};

/// Sets `flag[0]` if `found(i)` is 1 for some i < n; leaves it otherwise. `scratch` holds a word.
template <Executor E, class Found>
void raise_if_any(E& exec, std::size_t n, Found found, std::uint32_t* flag, Scratch<E>& scratch) {
  auto any = scratch.template take<std::uint32_t>(exec, 1);
  exec.reduce(n, std::uint32_t{0}, found, kernel::Or{}, std::span<std::uint32_t, 1>(any.data(), 1));
  exec.for_each(1, kernel::Raise{any.data(), flag});
}

/// Sets `flag[0]` if one of `values` is an infinity or a NaN.
template <Executor E, class T>
void find_non_finite(E& exec, std::span<T> values, std::uint32_t* flag, Scratch<E>& scratch) {
  if constexpr (requires { exec.find_non_finite(values, flag); }) {
    exec.find_non_finite(values, flag);
  } else {
    raise_if_any(exec, values.size(), kernel::NonFiniteAt<std::remove_const_t<T>>{values.data()},
                 flag, scratch);
  }
}

/// Sets `flag[0]` if a value of `piece` that the mask does not keep differs from zero.
template <Executor E, class MaskOn, class T>
void find_stray(E& exec, const MaskOn& mask, Piece<const T> piece, std::uint32_t* flag,
                Scratch<E>& scratch) {
  if constexpr (requires { exec.find_stray(mask.bits(), piece.first, piece.values(), flag); }) {
    exec.find_stray(mask.bits(), piece.first, piece.values(), flag);
  } else {
    using Stray = kernel::StrayAt<T, decltype(mask.keep())>;
    raise_if_any(exec, piece.size, Stray{piece.data, piece.first, mask.keep()}, flag, scratch);
  }
}

/// The kept values of `piece` go to their slots; `packed` holds slot `base` first. Where
/// `non_finite` is not null, it is set if any value, kept or not, is an infinity or a NaN: in the
/// same pass where the executor packs bits itself.
template <Executor E, class MaskOn, class T>
void pack(E& exec, const MaskOn& mask, Piece<const T> piece, T* packed, std::size_t base,
          std::uint32_t* non_finite, Scratch<E>& scratch) {
  if constexpr (requires {
                  exec.compress(mask.bits(), piece.first, piece.values(), packed, base, non_finite);
                }) {
    exec.compress(mask.bits(), piece.first, piece.values(), packed, base, non_finite);
  } else {
    mask.visit(exec, piece.first, piece.first + piece.size,
               kernel::Gather<T>{piece.data, piece.first, packed, base});
    if (non_finite != nullptr) find_non_finite(exec, piece.values(), non_finite, scratch);
  }
}

/// The values in the slots go to their positions in `piece`, and zeros everywhere else.
template <Executor E, class MaskOn, class T>
void unpack(E& exec, const MaskOn& mask, const T* packed, std::size_t base, Piece<T> piece) {
  if constexpr (requires { exec.expand(mask.bits(), piece.first, packed, base, piece.values()); }) {
    exec.expand(mask.bits(), piece.first, packed, base, piece.values());
  } else {
    exec.for_each(piece.size, kernel::Fill<T>{piece.data, T{}});
    mask.visit(exec, piece.first, piece.first + piece.size,
               kernel::Scatter<T>{packed, base, piece.data, piece.first});
  }
}

}  // namespace pactrain

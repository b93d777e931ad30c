// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd/kth_largest.hpp>
#include <pactrain/host/simd/level.hpp>
#include <pactrain/host/simd/processor.hpp>
#include <pactrain/host/simd/workspace.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <type_traits>

/// Host kernels over a mask of one bit per entry, in the widest instructions the processor has.
/// In all of them bit `first + i` of `words` belongs to entry `i`; `first` may be any number, and
/// pointers need the alignment of their type only. Each takes a `Level` in front to force one,
/// which must not be above `best_level()`; without it, `level()` is taken.
namespace pactrain::simd {

/// Values that the kernels move: plain ones of 2, 4 or 8 bytes.
template <class T>
concept Movable = std::is_trivially_copyable_v<T> && std::default_initializable<T> &&
                  (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

/// The level kernels use: the best one, or the one that the environment variable `PACTRAIN_SIMD`
/// names, which is read once. Throws `PreconditionError` if it names none that this processor has.
inline Level level() {
  static const Level chosen = [] {
    const char* name = std::getenv("PACTRAIN_SIMD");
    return level_from(name == nullptr ? "" : name, best_level());
  }();
  return chosen;
}

/// Copies the entries whose bit is set to consecutive slots; returns how many.
/// Nothing behind the last slot is written. A sparse mask touches only lines with set bits.
template <Movable T>
std::size_t compress(Level level, const std::uint64_t* words, std::size_t first, std::size_t n,
                     const T* dense, T* packed) {
  return with_kernels(level, [&](auto kernels) {
    return kernels.template compress<T>(words, first, n, dense, packed);
  });
}

template <Movable T>
std::size_t compress(const std::uint64_t* words, std::size_t first, std::size_t n, const T* dense,
                     T* packed) {
  return compress(level(), words, first, n, dense, packed);
}

/// The same, and sets `*non_finite` if any entry, kept or not, is an infinity or a NaN; it is left
/// as it is otherwise. Both are done in one pass over `dense`. A null pointer asks for no scan.
template <GradientValue T>
std::size_t compress(Level level, const std::uint64_t* words, std::size_t first, std::size_t n,
                     const T* dense, T* packed, bool* non_finite) {
  if (non_finite == nullptr) return compress(level, words, first, n, dense, packed);
  return with_kernels(level, [&](auto kernels) {
    return kernels.template compress<T>(words, first, n, dense, packed, *non_finite);
  });
}

template <GradientValue T>
std::size_t compress(const std::uint64_t* words, std::size_t first, std::size_t n, const T* dense,
                     T* packed, bool* non_finite) {
  return compress(level(), words, first, n, dense, packed, non_finite);
}

/// Writes consecutive slots to the entries whose bit is set and zero to the others, in one pass;
/// returns how many slots were read. A `dense` of 1 MiB and more is written past the caches.
template <Movable T>
std::size_t expand(Level level, const std::uint64_t* words, std::size_t first, std::size_t n,
                   const T* packed, T* dense) {
  return with_kernels(level, [&](auto kernels) {
    return kernels.template expand<T>(words, first, n, packed, dense);
  });
}

template <Movable T>
std::size_t expand(const std::uint64_t* words, std::size_t first, std::size_t n, const T* packed,
                   T* dense) {
  return expand(level(), words, first, n, packed, dense);
}

/// Sets entries whose bit is clear to zero and leaves the values of the others.
template <Movable T>
void clear_unkept(Level level, const std::uint64_t* words, std::size_t first, std::size_t n,
                  T* dense) {
  with_kernels(level,
               [&](auto kernels) { kernels.template clear_unkept<T>(words, first, n, dense); });
}

template <Movable T>
void clear_unkept(const std::uint64_t* words, std::size_t first, std::size_t n, T* dense) {
  clear_unkept(level(), words, first, n, dense);
}

/// Is an entry whose bit is clear anything but zero? Negative zero is zero, a NaN is not.
template <GradientValue T>
bool any_stray(Level level, const std::uint64_t* words, std::size_t first, std::size_t n,
               const T* x) {
  return with_kernels(
      level, [&](auto kernels) { return kernels.template any_stray<T>(words, first, n, x); });
}

template <GradientValue T>
bool any_stray(const std::uint64_t* words, std::size_t first, std::size_t n, const T* x) {
  return any_stray(level(), words, first, n, x);
}

/// Is no entry an infinity or a NaN? Tested on bits, so that -ffast-math cannot remove it.
template <GradientValue T>
bool all_finite(Level level, const T* x, std::size_t n) {
  return with_kernels(level, [&](auto kernels) { return kernels.template all_finite<T>(x, n); });
}

template <GradientValue T>
bool all_finite(const T* x, std::size_t n) {
  return all_finite(level(), x, n);
}

/// The k-th largest magnitude of the vector that `parts` make up, and how many entries lie above.
/// `k` is at least 1 and at most the number of entries. NaNs count as larger than infinity. The
/// workspace grows to about a twentieth of a long vector at the first call and is then reused.
template <GradientValue T>
Bar<T> kth_largest(Level level, std::span<const std::span<const T>> parts, std::size_t k,
                   Workspace& workspace) {
  return with_kernels(level, [&]<class K>(K) { return Selection<K, T>(parts, workspace).kth(k); });
}

template <GradientValue T>
Bar<T> kth_largest(std::span<const std::span<const T>> parts, std::size_t k, Workspace& workspace) {
  return kth_largest<T>(level(), parts, k, workspace);
}

}  // namespace pactrain::simd

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace pactrain::simd {

/// From this many bytes on an output is written past the caches: it fills half of a second-level
/// cache or more, and a store that first reads the line it overwrites doubles the traffic.
inline constexpr std::size_t streamed_bytes = std::size_t{1} << 20;

/// The bytes of a cache line.
inline constexpr std::size_t line_bytes = 64;

/// How many entries come before the first line that may be streamed; `n` if none may.
template <class T>
std::size_t lead_to_stream(const T* out, std::size_t n) {
  const auto address = reinterpret_cast<std::uintptr_t>(out);
  if (n * sizeof(T) < streamed_bytes || address % sizeof(T) != 0) return n;
  return (line_bytes - address % line_bytes) % line_bytes / sizeof(T);
}

/// Asks for the line that a kernel reading in order will need two pages further on.
/// The hardware's prefetcher stops at each page's end; this keeps it running.
[[gnu::always_inline]] inline void prefetch_ahead(const void* x) {
  constexpr std::uintptr_t distance = 8192;
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(x) + distance),
                     0, 2);
}

/// A mask of vector lanes as a word in a general register: g++ 12 else stores a mask in two bytes
/// where registers are few, and reads four of them back.
[[gnu::always_inline]] inline std::uint32_t mask_word(std::uint32_t mask) {
  asm("" : "+r"(mask));
  return mask;
}

}  // namespace pactrain::simd

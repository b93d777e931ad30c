// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/host/executor.hpp>
#include <pactrain/host/ranges.hpp>
#include <pactrain/kernel/bits.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

/// Kernels of host spaces: an index is a range of positions, done as `HostExecutor` does it.
namespace pactrain::kokkos {

/// Several ranges may find something at once.
inline void raise(std::uint32_t* flag) {
  std::atomic_ref<std::uint32_t>(*flag).store(1, std::memory_order_relaxed);
}

template <class T>
struct Compress {
  kernel::Bits bits;
  Ranges ranges;
  std::span<const T> dense;
  T* packed;
  std::size_t base;
  std::uint32_t* non_finite;
  void operator()(std::size_t range) const {
    std::uint32_t mine = 0;
    HostExecutor{}.compress(bits, ranges.first + ranges.begin(range), ranges.of(dense, range),
                            packed, base, non_finite != nullptr ? &mine : nullptr);
    if (mine != 0) raise(non_finite);
  }
};

template <class T>
struct Expand {
  kernel::Bits bits;
  Ranges ranges;
  const T* packed;
  std::size_t base;
  std::span<T> dense;
  void operator()(std::size_t range) const {
    HostExecutor{}.expand(bits, ranges.first + ranges.begin(range), packed, base,
                          ranges.of(dense, range));
  }
};

template <class T>
struct FindStray {
  kernel::Bits bits;
  Ranges ranges;
  std::span<const T> dense;
  std::uint32_t* stray;
  void operator()(std::size_t range) const {
    std::uint32_t mine = 0;
    HostExecutor{}.find_stray(bits, ranges.first + ranges.begin(range), ranges.of(dense, range),
                              &mine);
    if (mine != 0) raise(stray);
  }
};

template <class T>
struct FindNonFinite {
  Ranges ranges;
  std::span<const T> values;
  std::uint32_t* non_finite;
  void operator()(std::size_t range) const {
    std::uint32_t mine = 0;
    HostExecutor{}.find_non_finite(ranges.of(values, range), &mine);
    if (mine != 0) raise(non_finite);
  }
};

struct Copy {
  Ranges ranges;
  std::span<const std::byte> from;
  std::byte* to;
  void operator()(std::size_t range) const {
    const std::span<const std::byte> mine = ranges.of(from, range);
    std::memcpy(to + ranges.begin(range), mine.data(), mine.size());
  }
};

}  // namespace pactrain::kokkos

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace pactrain::bench {

/// Entries of the dense vector in kernel benchmarks: 64 MiB of floats, more than private caches.
inline constexpr std::int64_t entries = std::int64_t{1} << 24;

/// Shares of entries kept, in percent.
inline constexpr std::int64_t percents[] = {1, 5, 10, 20, 50, 90};

}  // namespace pactrain::bench

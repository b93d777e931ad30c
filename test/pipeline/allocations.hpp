// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace pactrain::test {

/// Counts calls of operator new, on all threads, between these two.
void start_counting_allocations();
std::uint64_t stop_counting_allocations();

}  // namespace pactrain::test

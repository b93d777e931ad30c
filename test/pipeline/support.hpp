// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <host/world.hpp>
#include <suite/sparse_all_reduce_law.hpp>
#include <suite/sparse_all_reduce_refusals.hpp>
#include <suite/values.hpp>

#include <pactrain/host/backend.hpp>

#include <cstddef>
#include <limits>
#include <vector>

/// For tests of whole reducers on threads, with the numbers of papers and reports.
namespace pactrain::test {

inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
inline constexpr float infinity = std::numeric_limits<float>::infinity();

template <class P, class M, class Z = Identity, class F = NoFeedback>
using OnThreads = SparseAllReduce<P, M, HostBackend, Z, F>;

/// `body(backend, rank)` on so many threads.
template <class Body>
void with_ranks(int ranks, Body body) {
  on_threads(
      ranks, [&](HostBackend& backend) { body(backend, backend.communicator().rank()); }, patience);
}

/// Calls `f.operator()<Codec>()` for each codec.
template <class F>
void for_codecs(F f) {
  for_types<Identity, Cast<float16>, Cast<bfloat16>, Ternary, Int8>(f);
}

}  // namespace pactrain::test

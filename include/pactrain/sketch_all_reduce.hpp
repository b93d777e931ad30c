// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/sketch.hpp>
#include <pactrain/method_all_reduce.hpp>

namespace pactrain {

/// The sum of gradients of which most entries are zeros, as an index and a count sketch (lossless
/// homomorphic compression, arXiv 2402.07529), with the call, the checks and the transactions of
/// `SparseAllReduce`; the options are `Sketch`'s. Three collectives a call: heads, index,
/// sketch. `reduce.method()` tells cells, rounds and unresolved entries.
template <class B>
using SketchAllReduce = MethodAllReduce<Sketch, B>;

}  // namespace pactrain

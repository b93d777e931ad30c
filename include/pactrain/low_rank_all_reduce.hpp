// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/low_rank.hpp>
#include <pactrain/method_all_reduce.hpp>

namespace pactrain {

/// The sum of gradients whose matrices travel as two thin factors (PowerSGD, arXiv 1905.13727),
/// with the call, the checks and the transactions of `SparseAllReduce`; vectors, and matrices that
/// would not shrink, travel as they are, in the same all-reduce as the left factors. Slices say how
/// many `rows` a matrix has; the options are `LowRank`'s. Two all-reduces a call.
template <class B>
using LowRankAllReduce = MethodAllReduce<LowRank, B>;

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/mask/full_mask.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/sparse_all_reduce.hpp>

namespace pactrain {

/// The dense sum, with the interface, the checks and the transactions of `SparseAllReduce`: the
/// yardstick for what packing saves, and what training without pruning uses.
template <class B, class Codec = Identity, class Feedback = NoFeedback>
using DenseAllReduce = SparseAllReduce<KeepAll, FullMask, B, Codec, Feedback>;

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace pactrain {

/// What the ranks' gradients become.
enum class Reduction {
  mean,  ///< their sum divided by the number of ranks, ranks without data included
  sum
};

/// What happens where a gradient has an infinity or a NaN, on any rank, at any entry.
enum class NonFinite {
  reject,     ///< `StepRejected` on every rank, and everything is as it was before the call
  propagate,  ///< kept entries carry it through, uncoded where the codec cannot; `Report` says so
  ignore      ///< nobody looks
};

/// What this rank adds in a call.
enum class Contribution {
  gradient,
  nothing  ///< zeros, whatever the gradient holds: a rank that has no data at this step
};

/// Options of a reducer that are no part's own.
struct ReduceOptions {
  Reduction reduction = Reduction::mean;
  NonFinite non_finite = NonFinite::reject;
  std::uint64_t seed = 0;  ///< of random rounding; the same on all ranks
  /// Ranks compare what they call, and what they know, before every call, not only where the mask
  /// changes: one small gather more, which waits. A call that not all ranks make, or make in the
  /// same order, is then a `RankMismatch` on all of them.
  bool checked = false;
};

}  // namespace pactrain

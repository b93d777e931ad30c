// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/low_rank.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>

namespace pactrain {

/// The sum of gradients whose matrices travel as two thin factors (PowerSGD, arXiv 1905.13727):
/// `DenseAllReduce` with the codec `LowRank`, and a residual unless `Feedback` is another.
template <class B, class Feedback = ErrorFeedback>
class LowRankAllReduce : public DenseAllReduce<B, LowRank, Feedback> {
 public:
  /// Throws `PreconditionError` for options that cannot work.
  explicit LowRankAllReduce(B& backend, LowRank codec = {}, ReduceOptions options = {})
      : DenseAllReduce<B, LowRank, Feedback>(backend, {}, codec, {}, options) {}
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/backend.hpp>
#include <pactrain/feedback/feedback.hpp>
#include <pactrain/mask/mask.hpp>
#include <pactrain/policy/policy.hpp>

namespace pactrain {

/// Says in a sentence which part of a reducer is not what it is named as.
template <class Policy, class Mask, class B, class Codec, class F>
struct CheckedParts {
  static_assert(Backend<B>,
                "pactrain: Backend needs an executor and a communicator that reaches the "
                "executor's memory (concept Backend)");
  static_assert(PruningPolicy<Policy, typename B::executor_type>,
                "pactrain: Policy needs the constants support and unkept, fingerprint(), and "
                "on<Executor> with revision, prepare and keep (concept PruningPolicy)");
  static_assert(MaskRepresentation<Mask, B>,
                "pactrain: Mask needs on<Executor> with begin, assign, end, visit, keep, slot, "
                "count, clear, fingerprint, unite, broadcast, bytes, save and load (concept "
                "MaskRepresentation)");
  static_assert(Compressor<Codec, typename B::executor_type>,
                "pactrain: Codec needs the constant additive, fingerprint(), and on<Executor> with "
                "encode and decode_add (concept Compressor)");
  static_assert(
      pactrain::Feedback<F, typename B::executor_type>,
      "pactrain: Feedback needs the constant active and fingerprint() (concept Feedback)");
  static_assert(
      !(
          requires { requires F::masks; } && requires { requires Codec::hides_choice; }),
      "pactrain: MomentumFeedback clears the momentum of what a codec chose, and Balanced "
      "does not say what arrived of it; use SparseStreams, Gathered or ErrorFeedback");
  static constexpr bool fit = true;
};

}  // namespace pactrain

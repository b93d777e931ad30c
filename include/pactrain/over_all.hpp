// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/mask/full_mask.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/sparse_all_reduce.hpp>

#include <utility>

namespace pactrain {

/// Says how `W`, a codec that chooses among the values that it is given, is named in a policy's
/// place: `choice` is what the user passes there, `codec<Mask>(choice, values)` the codec that it
/// makes together with the mask and the codec named beside it. Specialised by such codecs.
template <class W>
struct OverAll;

/// A rank's own choice of all entries, named as a policy: `Mask` says how positions travel, and
/// `Codec` how values do. The same as that codec behind `KeepAll`, so that `mask()` keeps
/// everything, and what no rank chose is zero in the result.
template <class W, class Mask, class B, class Codec, class Feedback>
  requires requires { typename OverAll<W>::choice; }
class SparseAllReduce<W, Mask, B, Codec, Feedback>
    : public SparseAllReduce<KeepAll, FullMask, B,
                             decltype(OverAll<W>::template codec<Mask>(
                                 std::declval<typename OverAll<W>::choice>(),
                                 std::declval<Codec>())),
                             Feedback> {
  using Choice = typename OverAll<W>::choice;
  using Base = SparseAllReduce<KeepAll, FullMask, B,
                               decltype(OverAll<W>::template codec<Mask>(std::declval<Choice>(),
                                                                         std::declval<Codec>())),
                               Feedback>;

 public:
  explicit SparseAllReduce(B& backend, Choice choice = {}, Codec codec = {}, Feedback feedback = {},
                           ReduceOptions options = {})
      : Base(backend, {}, OverAll<W>::template codec<Mask>(std::move(choice), std::move(codec)),
             std::move(feedback), options) {}
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/local_choice.hpp>
#include <pactrain/algorithm/owners_exchange.hpp>
#include <pactrain/algorithm/range_order.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/over_all.hpp>
#include <pactrain/policy/policy.hpp>

#include <concepts>
#include <cstdint>
#include <utility>

namespace pactrain {

/// Of the values that are packed, each rank's own choice by policy `P` is summed by the owners of
/// ranges, and the sums are gathered: SparCML's split all-gather of sparse streams (Renggli et al.,
/// "SparCML", SC'19, arXiv 1802.08021). A range travels as items of position and value until all of
/// its values are shorter, on the way to its owner, while it is summed, and on the way back: so
/// traffic never exceeds that of a dense sum by more than counts and flags.
///
/// The result is the dense sum of the chosen values in rank order, bit for bit, divided by the
/// ranks. Four collectives: counts (all-to-all), items (all-to-all), counts and sums (all-gather).
/// Named as a policy, `SparseAllReduce<SparseStreams<TopK>, IndexMask, B>` chooses among all
/// entries; as a codec behind a pruning policy it chooses among the survivors. Throws what the
/// policy throws, and `BackendError` where what was received cannot be.
template <class P, class Mask = IndexMask, class Values = Identity>
struct SparseStreams {
  static_assert(P::support == Support::local,
                "pactrain: SparseStreams wants a policy by which ranks choose for themselves, like "
                "TopK; what all ranks keep alike needs no positions");
  static_assert(std::same_as<Mask, IndexMask> && std::same_as<Values, Identity>,
                "pactrain: SparseStreams sends positions as IndexMask stores them, and values as "
                "they are; use Gathered for another mask or codec");
  static constexpr bool additive = false;
  static constexpr bool whole = true;  // policies rank all that they are given together
  P policy = {};

  [[nodiscard]] std::uint64_t fingerprint() const { return policy.fingerprint(); }
  template <Executor E>
  using state = ChoiceState<P, E>;
  template <GradientValue T, GradientValue S, Executor E, class C>
  using exchange = OwnersExchange<T, S, E, C, SparseStreams>;

  template <Executor E>
  using order = RangeOrder<E>;
  static constexpr bool bitmaps = false;
  template <Executor E>
  using on = ChoiceOn<P, Mask, E>;
};

template <class P>
struct OverAll<SparseStreams<P>> {
  using choice = SparseStreams<P>;
  template <class Mask, class Codec>
  static SparseStreams<P, Mask, Codec> codec(choice choice, Codec) {
    return {std::move(choice.policy)};
  }
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/hashed_order.hpp>
#include <pactrain/algorithm/local_choice.hpp>
#include <pactrain/algorithm/owners_exchange.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/over_all.hpp>
#include <pactrain/policy/policy.hpp>

#include <concepts>
#include <cstdint>
#include <utility>

namespace pactrain {

/// Of the values that are packed, each rank's own choice by policy `P` is summed by owners that a
/// hash of the position says, so that they have equally much to do however skewed the choices are;
/// sums go to all with a bitmap over the positions that their owner has: Zen's balanced parallelism
/// (arXiv 2309.13254). Bitmaps are n bits over all owners, whatever the number of ranks.
///
/// The result is that of `SparseStreams`, bit for bit: the dense sum of the chosen values. The same
/// four collectives. An order of all positions by owner is kept, 2, 4 or 8 bytes each, and the
/// packed values in it. The paper's second level of hashes, which fills an owner's table without
/// locks, is a scan here. Throws what the policy throws, and `BackendError` where what was received
/// cannot be.
template <class P, class Mask = BitMask, class Values = Identity>
struct Hashed {
  static_assert(P::support == Support::local,
                "pactrain: Hashed wants a policy by which ranks choose for themselves, like TopK; "
                "what all ranks keep alike needs no positions");
  static_assert(std::same_as<Mask, BitMask> && std::same_as<Values, Identity>,
                "pactrain: Hashed sends positions as bits of their owner's, and values as they "
                "are; write BitMask, or use Gathered for another mask or codec");
  static constexpr bool additive = false;
  static constexpr bool whole = true;  // policies rank all that they are given together
  P policy = {};

  [[nodiscard]] std::uint64_t fingerprint() const { return policy.fingerprint(); }
  template <Executor E>
  using state = ChoiceState<P, E>;
  template <GradientValue T, GradientValue S, Executor E, class C>
  using exchange = OwnersExchange<T, S, E, C, Hashed>;

  template <Executor E>
  using order = HashedOrder<E>;
  static constexpr bool bitmaps = true;
  template <Executor E>
  using on = ChoiceOn<P, Mask, E>;
};

template <class P>
struct OverAll<Hashed<P>> {
  using choice = Hashed<P>;
  template <class Mask, class Codec>
  static Hashed<P, Mask, Codec> codec(choice choice, Codec) {
    return {std::move(choice.policy)};
  }
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/pack.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cstddef>
#include <span>

namespace pactrain {

namespace kernel {
/// Which positions' accounts are closed by a step, as `feedback.hpp` says: of those that the mask
/// keeps the ones that `chosen` tells by their slots, and all that it does not keep where
/// `pruned`.
template <class Keep, class Chosen>
struct Closed {
  Keep keep;
  Chosen chosen;
  bool some, pruned;
  PACTRAIN_FN bool operator()(std::size_t position) const {
    if (!keep(position)) return pruned;
    return some && chosen(keep.slot(position));
  }
};
}  // namespace kernel

/// Takes from `piece`, whose values are `missed`, what its slots in `set` conveyed; `conveyed`
/// holds slot `base` first.
template <Executor E, class Set, class S, class A>
void deduct(E& exec, const Set& set, const Piece<const S>& piece, std::span<S> missed,
            const A* conveyed, std::size_t base) {
  set.visit(exec, piece.first, piece.first + piece.size,
            kernel::Deduct<S, A>{conveyed, base, missed.data(), piece.first});
}

/// The residual takes in what a call did not convey. What a policy drops is not missed, and where
/// its mask has changed, the residual of all that it prunes goes. `dense`: all entries travelled;
/// `masked`: with zeros where the mask drops, or else it was found wrong, and nothing was dropped.
/// `exchange` says what was conveyed, and what was chosen to be.
template <bool drops, Executor E, class Keeper, class Pieces, class Exchange, class FeedbackOn>
void remember(E& exec, const Keeper& keeper, const Pieces& pieces, const Exchange& exchange,
              bool dense, bool masked, FeedbackOn& feedback, Step step) {
  const auto conveyed = exchange.conveyed();
  pieces.each([&](const auto&, const auto& source, const auto& place, std::size_t at) {
    const auto missed = pieces.sums().subspan(at, source.size);
    if (drops && masked) keeper.mask().clear(exec, source.first, missed);
    if (dense) {
      deduct(exec, Everything{}, source, missed, conveyed.data() + at, source.first);
    } else {
      deduct(exec, keeper.mask(), source, missed, conveyed.data() + place.first,
             keeper.slot(place.part));
    }
    const Part& part = keeper.model().parts()[source.part];
    if (source.at + source.size < part.size) return;  // the rest of the parameter is yet to come
    auto all = source;
    all.at = 0;
    all.first = part.first;
    all.size = part.size;
    all.data = pieces.sums().data() + (at - source.at);
    // Selected before others: by the policy where that does not prune, and by the codec.
    const std::size_t candidates = drops ? place.size : part.size;
    const bool some = exchange.chosen_in(source.part, place.size) < candidates;
    const kernel::Closed closed{keeper.mask().keep(), exchange.chosen(), masked && some,
                                masked && drops};
    if constexpr (requires { feedback.commit(exec, all, closed, step); }) {
      feedback.commit(exec, all, closed, step);
    } else {
      feedback.commit(exec, all, step);
    }
  });
  if (drops && masked && keeper.changed()) {
    feedback.residual(exec, [&](auto residual) { keeper.mask().clear(exec, 0, residual); });
  }
}

}  // namespace pactrain

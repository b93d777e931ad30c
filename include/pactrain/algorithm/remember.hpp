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
/// Which positions' accounts are closed by a step, as `feedback.hpp` says: none, what `keep` keeps,
/// or what it does not keep.
template <class Keep>
struct Closed {
  Keep keep;
  bool any, kept;
  PACTRAIN_FN bool operator()(std::size_t position) const {
    return any && static_cast<bool>(keep(position)) == kept;
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
/// its mask has changed, the residual of all that it prunes goes. `dense`: the mask was found wrong
/// and not used, so nothing was dropped.
template <bool drops, Executor E, class Keeper, class Pieces, class A, class FeedbackOn>
void remember(E& exec, const Keeper& keeper, const Pieces& pieces, std::span<A> conveyed,
              bool dense, FeedbackOn& feedback, Step step) {
  pieces.each([&](const auto&, const auto& source, const auto& place, std::size_t at) {
    const auto missed = pieces.sums().subspan(at, source.size);
    if (dense) {
      deduct(exec, Everything{}, source, missed, conveyed.data() + at, source.first);
    } else {
      if (drops) keeper.mask().clear(exec, source.first, missed);
      deduct(exec, keeper.mask(), source, missed, conveyed.data() + place.first,
             keeper.slot(place.part));
    }
    const bool whole = place.size == keeper.model().parts()[source.part].size;
    const kernel::Closed closed{keeper.mask().keep(), !dense && !whole, !drops};
    if constexpr (requires {
                    feedback.commit(exec, source.first, as_const_span(missed), closed, step);
                  }) {
      feedback.commit(exec, source.first, as_const_span(missed), closed, step);
    } else {
      feedback.commit(exec, source.first, as_const_span(missed), step);
    }
  });
  if (drops && !dense && keeper.changed()) {
    feedback.residual(exec, [&](auto residual) { keeper.mask().clear(exec, 0, residual); });
  }
}

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/resolve.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/slices.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pactrain {

/// A reducer's mask as its user sees it. Before the first call everything is kept. It refers to the
/// reducer and shows the mask that stands when it is asked.
template <Executor E, class Keeper>
class BoundMask {
 public:
  BoundMask(E& exec, const Keeper& keeper) : exec_(&exec), keeper_(&keeper) {}

  /// Entries of the model, and how many of them are kept.
  [[nodiscard]] std::size_t size() const { return keeper_->model().size(); }
  [[nodiscard]] std::size_t count() const {
    return keeper_->stands() ? keeper_->mask().count() : size();
  }
  /// The share that is kept, from 0 to 1.
  [[nodiscard]] double density() const {
    return size() == 0 ? 1.0 : static_cast<double>(count()) / static_cast<double>(size());
  }
  /// `values`, of the whole model or of whole parts by name, become +0.0 where pruned: weights,
  /// momentum, any state by entry. Waits. Throws `PreconditionError` where sizes do not fit.
  template <Sliceable X>
  void apply(X&& values) const {
    using T = slice_value_t<X>;
    if (!keeper_->stands()) return;
    std::vector<Piece<T>> pieces;
    with_slices(values, [&](auto slices) { resolve(keeper_->model(), slices, pieces); });
    for (const auto& piece : pieces) keeper_->mask().clear(*exec_, piece.first, piece.values());
    exec_->fence();
  }
  /// A hash of the kept positions, the same on all ranks and for every representation. Waits.
  [[nodiscard]] std::uint64_t fingerprint() const {
    return keeper_->stands() ? keeper_->mask().fingerprint(*exec_, 0, size()) : 0;
  }
  /// Memory held by the mask.
  [[nodiscard]] std::size_t bytes() const { return keeper_->mask().bytes(); }
  /// The representation itself, for kernels. Precondition: a call has been made.
  [[nodiscard]] const auto& representation() const { return keeper_->mask(); }

 private:
  E* exec_;
  const Keeper* keeper_;
};

}  // namespace pactrain

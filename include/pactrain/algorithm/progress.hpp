// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// Which step it is, and which parts of the model have been reduced in it.
class StepProgress {
 public:
  explicit StepProgress(Step step = 0) : step_(step) {}

  [[nodiscard]] Step step() const noexcept { return step_; }
  /// Has a part been started or reduced in a step that is not complete?
  [[nodiscard]] bool under_way() const { return std::ranges::find(taken_, true) != taken_.end(); }

  /// A call takes on these pieces; throws `PreconditionError` where one is taken already, or where
  /// they are not the `whole` model and ought to be.
  template <class T>
  void open(const Model& model, std::span<const Piece<T>> pieces, bool whole) {
    taken_.resize(model.parts().size());
    std::size_t entries = 0;
    for (const auto& piece : pieces) {
      entries += piece.size;
      expects(piece.at != 0 || !taken_[piece.part], [&] {
        return "'" + model.parts()[piece.part].name +
               "' is reduced twice in one step (a step ends when all parts have been reduced); "
               "reduce the other parts first, or give the step up (drop_step)";
      });
    }
    expects(!whole || entries == model.size(),
            "this policy, or codec, wants the whole model; pass all of it in one call");
    for (const auto& piece : pieces) taken_[piece.part] = true;
  }
  /// What has been reduced in the step under way counts no more; its number stays.
  void drop() {
    covered_ = 0;
    taken_.assign(taken_.size(), false);
  }
  /// The call has ended; the step ends when all of the model has been accepted.
  template <class T>
  void close(const Model& model, std::span<const Piece<T>> pieces, bool accepted) {
    for (const auto& piece : pieces) {
      if (accepted) covered_ += piece.size;
      else if (piece.part < taken_.size()) taken_[piece.part] = false;
    }
    if (!accepted || covered_ < model.size()) return;
    drop();
    ++step_;
  }

 private:
  Step step_;
  std::size_t covered_ = 0;
  std::vector<bool> taken_;
};

}  // namespace pactrain

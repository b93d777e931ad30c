// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/magnitude_ranking.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/sparsity.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// Prunes the smallest weights once and keeps that mask: as PacTrain prunes (arXiv 2505.18563),
/// after a dense start, with magnitude as the score.
///
/// Of n weights exactly floor(sparsity * n) are pruned (`fraction_of`), per parameter or of the
/// whole model; of equal magnitudes the ones at higher indices. All ranks answer alike as long as
/// their weights are equal. Throws `PreconditionError`: a sparsity outside [0, 1), no weights, an
/// unknown exempt name at construction; weights laid out otherwise than the gradient, or NaNs among
/// them, when the decision falls.
struct OneShotMagnitude {
  Values weights;                        ///< in the executor's memory, read when `step` is reached
  Sparsity sparsity = 0;                 ///< the share that is pruned, of all or of each part
  Step step = 0;                         ///< everything is kept before this step
  Scope scope = Scope::per_parameter;    ///< where weights are ranked
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::dropped;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    sparsity.add_to(options(step)(scope));
    add_names(options, exempt);
    return options.value();
  }

  template <Executor E>
  class on;
};

template <Executor E>
class OneShotMagnitude::on {
 public:
  explicit on(const OneShotMagnitude& options)
      : sparsity_(options.sparsity),
        step_(options.step),
        ranking_(options.weights, options.scope, options.exempt) {
    sparsity_.expect_valid("the sparsity", options.scope);
  }

  [[nodiscard]] std::uint64_t revision(Step now) const { return now < step_ ? 0 : 1; }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>>, Step now) {
    if (now < step_) {
      ranking_.keep_all(model, 0);
    } else {
      ranking_.prune(exec, model, sparsity_, 1);
    }
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return ranking_.keep(piece);
  }
  void retract() { ranking_.retract(); }
  void save(E& exec, Writer& writer) const { ranking_.save(exec, writer); }
  void load(E& exec, const Model& model, Reader& reader) { ranking_.load(exec, model, reader); }

 private:
  Sparsity sparsity_;
  Step step_;
  MagnitudeRanking<E> ranking_;
};

}  // namespace pactrain

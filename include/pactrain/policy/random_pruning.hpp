// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/random_scores.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/kept_bits.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/ranking.hpp>
#include <pactrain/policy/sparsity.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// Prunes a random share of every parameter, the same on all ranks: the baseline that any other
/// policy has to beat.
///
/// Of n entries exactly floor(sparsity * n) are pruned (`fraction_of`). An entry's score is a
/// function of (seed, parameter, index) alone, so the set does not depend on the executor, on
/// threads, or on how the model is cut. With `weights` the reducer takes the layout from them.
/// Throws `PreconditionError` for a sparsity outside [0, 1) and for an unknown exempt name.
struct RandomPruning {
  Values weights = {};                   ///< optional; only their names and sizes are used
  Sparsity sparsity = 0;                 ///< the share that is pruned, of all or of each part
  std::uint64_t seed = 0;                ///< another seed, another set
  Step step = 0;                         ///< everything is kept before this step
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::dropped;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    sparsity.add_to(options(seed)(step));
    add_names(options, exempt);
    return options.value();
  }

  template <Executor E>
  class on;
};

template <Executor E>
class RandomPruning::on {
 public:
  explicit on(const RandomPruning& options) : options_(options) {
    options.sparsity.expect_valid("the sparsity", Scope::per_parameter);
    if (!options.weights.empty()) {
      static_cast<void>(exempt_parts(model_of(options.weights), options.exempt));
    }
  }

  [[nodiscard]] std::uint64_t revision(Step now) const { return now < options_.step ? 0 : 1; }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>>, Step now) {
    const auto whole = exempt_parts(model, options_.exempt);
    options_.sparsity.expect_fits(model);
    if (now < options_.step) {
      kept_.keep_all();
      return;
    }
    std::size_t largest = 0;
    for (const Part& part : model.parts()) largest = std::max(largest, part.size);
    const auto memory = scores_.template take<float>(exec, largest);
    kept_.begin(exec, model.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Part& part = model.parts()[i];
      if (whole[i]) {
        kept_.assign(exec, part.first, part.size, kernel::Among{});
        continue;
      }
      const auto scores = memory.first(part.size);
      exec.for_each((part.size + 3) / 4,
                    kernel::RandomScores{{options_.seed, 0}, i, part.size, scores.data()});
      const Ranked<float> run{scores, {}};
      const auto cuts = cuts_at(exec, std::span(&run, 1), std::span<const std::size_t>(&i, 1),
                                Scope::per_parameter, options_.sparsity, scratch_);
      kept_.assign(exec, part.first, part.size,
                   kernel::KeepLargest<float>{scores.data(), {}, cuts[0]});
    }
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return kept_.from(piece.first);
  }

 private:
  RandomPruning options_;
  KeptBits<E> kept_;
  Scratch<E> scores_, scratch_;
};

}  // namespace pactrain

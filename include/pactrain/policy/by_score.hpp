// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/score_keys.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/kept_bits.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/ranking.hpp>
#include <pactrain/policy/sparsity.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// Prunes the entries with the lowest scores, once, by scores that the user gives: of any method,
/// such as SNIP and GraSP (`scores.hpp`). Scores are signed; the largest are kept.
///
/// Of n entries exactly floor(sparsity * n) are pruned (`fraction_of`), per parameter or of the
/// whole model; of equal scores those at higher indices. Scores are read when `step` is reached,
/// and not after. All ranks answer alike as long as their scores are equal, bit for bit; they
/// compare the masks. Throws `PreconditionError`: a sparsity outside [0, 1), no scores, an unknown
/// exempt name at construction; scores laid out otherwise than the gradient, or NaNs among them,
/// when the decision falls.
struct ByScore {
  Values scores;                         ///< in the executor's memory, sized as the model is
  Sparsity sparsity = 0;                 ///< the share that is pruned, of all or of each part
  Step step = 0;                         ///< everything is kept before this step
  Scope scope = Scope::global;           ///< where scores are ranked
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
class ByScore::on {
 public:
  explicit on(const ByScore& options) : options_(options) {
    expects(!options.scores.empty(), [] {
      return "the policy has no scores (they are what it ranks); pass one for each weight, as in "
             "{.scores = scores, ...}";
    });
    options.sparsity.expect_valid("the sparsity", options.scope);
    static_cast<void>(exempt_parts(model_of(options.scores), options.exempt));
  }

  [[nodiscard]] std::uint64_t revision(Step now) const { return now < options_.step ? 0 : 1; }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>>, Step now) {
    expects_layout(options_.scores, model, "scores");
    options_.sparsity.expect_fits(model);
    if (now < options_.step) {
      kept_.keep_all();
      return;
    }
    with_gradient_type(options_.scores.type(), [&]<class S>() { decide<S>(exec, model); });
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return kept_.from(piece.first);
  }

 private:
  template <class S>
  void decide(E& exec, const Model& model) {
    const auto whole = exempt_parts(model, options_.exempt);
    const auto keys = keys_.template take<double>(exec, model.size());
    std::vector<Ranked<double>> runs;
    std::vector<std::size_t> parts;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      if (whole[i]) continue;
      const auto values = options_.scores.as<S>(i);
      expects_no_nan(exec, model, i, values, scratch_, "scores");
      const auto of_part = keys.subspan(model.parts()[i].first, values.size());
      exec.for_each(values.size(), kernel::KeyScores<S>{values.data(), of_part.data()});
      runs.push_back({of_part, {}});
      parts.push_back(i);
    }
    const auto cuts = cuts_at(exec, std::span<const Ranked<double>>(runs), parts, options_.scope,
                              options_.sparsity, scratch_);
    kept_.begin(exec, model.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Part& part = model.parts()[i];
      if (whole[i]) kept_.assign(exec, part.first, part.size, kernel::Among{});
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Part& part = model.parts()[parts[i]];
      kept_.assign(exec, part.first, part.size,
                   kernel::KeepLargest<double>{runs[i].values.data(), {}, cuts[i]});
    }
  }

  ByScore options_;
  KeptBits<E> kept_;
  Scratch<E> keys_, scratch_;
};

}  // namespace pactrain

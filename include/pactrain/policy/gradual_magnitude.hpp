// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/magnitude_ranking.hpp>
#include <pactrain/policy/policy.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// Prunes the smallest weights bit by bit along a cubic schedule: many while there are many, few
/// towards the end (Zhu and Gupta, "To prune, or not to prune", arXiv 1710.01878, equation 1).
///
///     s(t) = final + (initial - final) (1 - (t - begin) / (end - begin))^3,   begin <= t <= end
///
/// Everything is kept before `begin`. The mask is decided anew at `begin`, every `every` steps from
/// there, and at `end`; in between its revision stands, and nothing is computed. Of n weights
/// exactly floor(s n) are pruned (`fraction_of`), per parameter or of the whole model; of equal
/// magnitudes the ones at higher indices.
///
/// What is pruned stays pruned. Where pruned weights are kept at zero that follows from their rank,
/// but for ties with weights that are zero by chance; here it holds in any case, as each decision
/// chooses among what the last one kept.
///
/// All ranks answer alike as long as their weights are equal. Throws `PreconditionError`:
/// sparsities outside [0, 1) or falling, a schedule that ends before it begins, `every` of 0, no
/// weights, an unknown exempt name at construction; weights laid out otherwise than the gradient,
/// or NaNs among them, when a decision falls.
struct GradualMagnitude {
  Values weights;                        ///< in the executor's memory, read at each decision
  double initial_sparsity = 0;           ///< at `begin`, in [0, 1)
  double final_sparsity = 0;             ///< from `end` on, in [0, 1)
  Step begin = 0;                        ///< the first decision
  Step end = 0;                          ///< the last one
  Step every = 1;                        ///< steps between decisions
  Scope scope = Scope::per_parameter;    ///< where weights are ranked
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::dropped;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    options(initial_sparsity)(final_sparsity)(begin)(end)(every)(scope);
    add_names(options, exempt);
    return options.value();
  }
  /// The schedule at `step`, which is clamped to [begin, end].
  [[nodiscard]] double sparsity_at(Step step) const {
    const Step clamped = std::max(step, begin);
    if (clamped >= end) return final_sparsity;
    const double left = 1 - static_cast<double>(clamped - begin) / static_cast<double>(end - begin);
    return final_sparsity + (initial_sparsity - final_sparsity) * (left * left * left);
  }

  template <Executor E>
  class on;
};

template <Executor E>
class GradualMagnitude::on {
 public:
  explicit on(const GradualMagnitude& options)
      : options_(options), ranking_(options.weights, options.scope, options.exempt) {
    expects_sparsity(options.initial_sparsity, "the initial sparsity");
    expects_sparsity(options.final_sparsity, "the final sparsity");
    expects(options.initial_sparsity <= options.final_sparsity, [&] {
      return "the sparsity falls from " + std::to_string(options.initial_sparsity) + " to " +
             std::to_string(options.final_sparsity) +
             " (what is pruned stays pruned); choose an initial one that is not above the final";
    });
    expects(options.begin <= options.end, [&] {
      return "the schedule ends at step " + std::to_string(options.end) +
             " before it begins at step " + std::to_string(options.begin) +
             "; choose an end that is not before the beginning";
    });
    expects(options.every > 0,
            [] { return "decisions fall every 0 steps (that is never); choose every >= 1"; });
  }

  [[nodiscard]] std::uint64_t revision(Step now) const {
    if (now < options_.begin) return 0;
    const Step length = options_.end - options_.begin;
    if (now >= options_.end) return 1 + length / options_.every + (length % options_.every != 0);
    return 1 + (now - options_.begin) / options_.every;
  }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>>, Step now) {
    const std::uint64_t revision = this->revision(now);
    if (revision == 0) {
      ranking_.keep_all(model, 0);
      return;
    }
    // The decision of a revision is that of its first step, whenever it is asked for.
    const Step decided =
        now >= options_.end ? options_.end : options_.begin + (revision - 1) * options_.every;
    ranking_.prune(exec, model, options_.sparsity_at(decided), revision);
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return ranking_.keep(piece);
  }
  void retract() { ranking_.retract(); }
  void save(E& exec, Writer& writer) const { ranking_.save(exec, writer); }
  void load(E& exec, const Model& model, Reader& reader) { ranking_.load(exec, model, reader); }

 private:
  GradualMagnitude options_;
  MagnitudeRanking<E> ranking_;
};

}  // namespace pactrain

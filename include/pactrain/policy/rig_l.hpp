// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/ranking.hpp>
#include <pactrain/policy/regrowth.hpp>
#include <pactrain/policy/sparsity.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace pactrain {

/// What grows where weights were dropped.
enum class Growth {
  gradient,  ///< where the dense gradient is largest: RigL
  random     ///< anywhere, the same on all ranks: SET (Mocanu et al., arXiv 1707.04780)
};

/// How the share that is exchanged changes up to `end`.
enum class Anneal {
  cosine,   ///< fraction / 2 (1 + cos(pi t / end)): RigL's paper
  constant  ///< the fraction: SET
};

/// Trains a sparse model whose mask moves: every `every` steps a share of the smallest weights is
/// dropped, and as many others grow, per parameter (RigL: Evci et al., "Rigging the lottery", ICML
/// 2020, arXiv 1911.11134; with `Growth::random`, SET). The number of weights stays.
///
/// The first mask is random, or `initial`. At an update step (a multiple of `every` in [1, end))
/// the mask is everything, so that the call reduces the dense gradient. Of the n weights that a
/// parameter has, floor(f n) are dropped, those of least magnitude, and as many grow among all that
/// are then not kept, where the reduced gradient is largest; so one that was dropped may stay, and
/// keeps its value. The call's result is zero but for entries that were kept before and are kept
/// after: a step of those may be taken (the paper takes none). The next step's mask is the new one.
/// Then clear weights and optimiser state by `reduce.mask().apply`: dropped ones become zero, and
/// grown ones start at zero with no momentum. Random growth needs no gradient: the mask changes at
/// the update step itself.
///
/// All ranks answer alike, as weights and reduced gradients are equal bit for bit; ties go to the
/// lowest index. A codec that loses something loses it from what growth sees, too. Throws
/// `PreconditionError`: no weights, options outside the ranges below, an unknown exempt name at
/// construction; weights laid out otherwise than the gradient, or NaNs among them, at updates.
struct RigL {
  Values weights;                        ///< in the executor's memory, read at updates
  Sparsity sparsity = 0;                 ///< of the first mask; `erk_densities` are the paper's
  std::optional<Pruned> initial = {};    ///< or that mask itself
  Step every = 100;                      ///< steps between updates, at least 1
  Step end = 0;                          ///< no updates from here on; three quarters of all steps
  double fraction = 0.3;                 ///< of weights that are exchanged at first, in [0, 1]
  Anneal anneal = Anneal::cosine;        ///< and later
  Growth growth = Growth::gradient;      ///< where
  std::uint64_t seed = 0;                ///< of the first mask, and of random growth
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::dropped;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    sparsity.add_to(options(every)(end)(fraction)(anneal)(growth)(seed));
    options(initial ? 1 + initial->fingerprint() : 0);
    add_names(options, exempt);
    return options.value();
  }
  /// Does the mask move at `step`?
  [[nodiscard]] bool updates(Step step) const {
    return step > 0 && step < end && step % every == 0;
  }
  /// The share of weights that is exchanged at `step`.
  [[nodiscard]] double fraction_at(Step step) const {
    if (step >= end) return 0;
    if (anneal == Anneal::constant) return fraction;
    const double part = static_cast<double>(step) / static_cast<double>(end);
    return fraction / 2 * (1 + std::cos(std::numbers::pi * part));
  }

  template <Executor E>
  class on;
};

template <Executor E>
class RigL::on {
 public:
  explicit on(const RigL& options) : options_(options) {
    expects_weights(options.weights);
    options.sparsity.expect_valid("the sparsity", Scope::per_parameter);
    expects(
        options.every > 0,
        "updates fall every 0 steps (that is never); choose every >= 1 (for none, an end of 0)");
    expects(options.fraction >= 0 && options.fraction <= 1, [&] {
      return "the fraction is " + std::to_string(options.fraction) +
             " (the share of weights that is exchanged); choose one in [0, 1]";
    });
    expects(!options.initial || !options.sparsity.is_by_part(),
            "both an initial mask and sparsities are given (each says what is kept at first); give "
            "one of them");
    whole_ = exempt_parts(model_of(options.weights), options.exempt);
  }

  /// Twice the updates so far; one less at an update that needs the dense gradient.
  [[nodiscard]] std::uint64_t revision(Step step) const {
    const Step last = step < options_.end || options_.end == 0 ? step : options_.end - 1;
    const std::uint64_t updates = options_.end == 0 ? 0 : last / options_.every;
    return 2 * updates - (is_dense(step) ? 1 : 0);
  }
  /// Does this step reduce the dense gradient?
  [[nodiscard]] bool is_dense(Step step) const {
    return options_.growth == Growth::gradient && options_.updates(step);
  }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>>, Step step) {
    expects_layout(options_.weights, model);
    const std::uint64_t revision = this->revision(step);
    const bool grows_now =
        options_.growth == Growth::random && sets_.chosen() && revision != sets_.revision();
    if (is_dense(step) || grows_now) expect_numbers(exec, model);
    sets_.begin();
    if (!sets_.chosen()) choose_first(exec, model, step);
    for (std::size_t part = 0; grows_now && part < whole_.size(); ++part) {
      exchange(exec, model, part, revision / 2 * options_.every);
    }
    sets_.take_next(revision);
    if (is_dense(step)) sets_.open();
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return sets_.keep(piece.first);
  }
  void retract() { sets_.retract(); }

  /// At an update, decides the next mask of these parameters, and leaves of the gradient what is
  /// kept before and after.
  template <class T>
  void observe(E& exec, const Model& model, std::span<const Piece<T>> reduced, Step step) {
    if (!is_dense(step)) return;
    for (std::size_t from = 0, to = 0; from < reduced.size(); from = to) {
      const std::size_t part = reduced[from].part;
      while (to < reduced.size() && reduced[to].part == part) ++to;
      const auto pieces = reduced.subspan(from, to - from);
      exchange(exec, model, part, step, pieces);
      for (const auto& piece : pieces) {
        if constexpr (!std::is_const_v<T>) {
          exec.for_each(piece.size,
                        kernel::ClearUnlessBoth<T>{sets_.kept(piece.first), sets_.next(piece.first),
                                                   piece.data});
        }
      }
    }
    exec.fence();
  }

  void save(E& exec, Writer& writer) const { sets_.save(exec, writer); }
  void load(E& exec, const Model& model, Reader& reader) { sets_.load(exec, model, reader); }

 private:
  void expect_numbers(E& exec, const Model& model) {
    with_gradient_type(options_.weights.type(), [&]<class W>() {
      for (std::size_t part = 0; part < whole_.size(); ++part) {
        if (!whole_[part]) {
          expects_no_nan(exec, model, part, options_.weights.template as<W>(part), scratch_);
        }
      }
    });
  }
  void choose_first(E& exec, const Model& model, Step step) {
    options_.sparsity.expect_fits(model);
    if (options_.initial) {
      typename Pruned::template on<E> given(*options_.initial);
      given.prepare(exec, model, std::span<const Piece<const float>>(), step);
      sets_.choose(exec, model, given.keep(Piece<const float>{}), whole_);
    } else {
      sets_.choose_random(exec, model, options_.sparsity, options_.seed, whole_);
    }
  }
  /// Drops and grows in one parameter: where its gradient is largest, or anywhere without one.
  template <class T = const float>
  void exchange(E& exec, const Model& model, std::size_t part, Step step,
                std::span<const Piece<T>> gradient = {}) {
    sets_.begin_next(exec, model, step);
    if (whole_[part]) return;
    const double share = options_.fraction_at(step);
    const Random random{kernel::mix(options_.seed, 'g'), step};
    with_gradient_type(options_.weights.type(), [&]<class W>() {
      sets_.exchange(exec, model, part, options_.weights.template as<W>(part), gradient, share,
                     random);
    });
  }

  RigL options_;
  std::vector<bool> whole_;
  Regrowth<E> sets_;
  Scratch<E> scratch_;
};

}  // namespace pactrain

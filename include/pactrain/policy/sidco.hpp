// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/part_moments.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/cut_lines.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/stage_adaptation.hpp>
#include <pactrain/policy/tail_fit.hpp>
#include <pactrain/policy/threshold_bits.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pactrain {

/// Keeps about a fraction of this rank's gradient: what lies above a threshold that is estimated
/// from moments, without ranking (SIDCo: Abdelmoniem, Elzanaty, Alouini and Canini, MLSys 2021,
/// arXiv 2101.10761).
///
/// A distribution is fitted to the magnitudes that are not zero. The first stage aims at the share
/// `first_stage` of them; each further one fits the tail above the threshold so far, and together
/// they aim at the fraction. Over windows of calls the number of stages adapts, for each group
/// (parameter, or model with the global scope) by itself. Where a threshold keeps more than `cap`
/// times what was wanted, or less than 1 / cap of it, the entries are ranked and exactly as many
/// kept: a bad fit costs time but never bytes. `Report::quality` is the estimate before that, over
/// what was wanted, for all groups together.
///
/// What is not kept waits in the residual, where there is one (the paper's error compensation).
/// Zeros are never kept; infinities and NaNs take no part in fits and are kept, for the reducer to
/// find. Throws `PreconditionError`: options outside the ranges below, an unknown exempt name.
struct SIDCo {
  double fraction = 0;                   ///< the share that is aimed at, in (0, 1]
  Fit fit = Fit::generalised_pareto;     ///< of the first stage; and of others, as `Fit` says
  std::size_t stages = 2;                ///< at first; at least 1, at most log2(1 / fraction)
  bool adapt = true;                     ///< may the number of stages change?
  std::size_t window = 5;                ///< calls between changes, at least 1
  double tolerance = 0.2;                ///< a window's mean that is as near to 1 changes nothing
  double first_stage = 0.25;             ///< in (0, 1)
  double cap = 4;                        ///< at least 1
  Scope scope = Scope::per_parameter;    ///< what has one threshold
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::local;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    options(fraction)(fit)(stages)(adapt)(window)(tolerance)(first_stage)(cap)(scope);
    add_names(options, exempt);
    return options.value();
  }
  /// The most stages that can be of use: each at least halves what is left.
  [[nodiscard]] std::size_t most_stages() const {
    const double halvings = std::ceil(std::log2(1 / fraction));
    return halvings < 1 ? 1 : static_cast<std::size_t>(halvings);
  }

  template <Executor E>
  class on;
};

template <Executor E>
class SIDCo::on {
 public:
  explicit on(const SIDCo& options) : options_(options) {
    const auto choose = [](const char* name, double value, const char* range) {
      return std::string(name) + " is " + std::to_string(value) + "; choose one in " + range;
    };
    expects_fraction(options.fraction);
    expects(options.stages > 0, "the stages are 0 (each is a fit); choose at least 1");
    expects(options.window > 0,
            "the window is 0 calls (the number of stages adapts after each); choose at least 1");
    expects(options.tolerance >= 0 && options.tolerance < 1,
            [&] { return choose("the tolerance", options.tolerance, "[0, 1)"); });
    expects(options.first_stage > 0 && options.first_stage < 1,
            [&] { return choose("the first stage's share", options.first_stage, "(0, 1)"); });
    expects(options.cap >= 1 && std::isfinite(options.cap), [&] {
      return "the cap is " + std::to_string(options.cap) +
             " (more than so many times the wanted entries are never kept); choose one of at "
             "least 1";
    });
  }

  [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>> gradient, Step) {
    using V = std::remove_const_t<T>;
    const bool together = options_.scope == Scope::global;
    auto adaptation = adaptation_;
    adaptation.resize(together ? 1 : model.parts().size(), StageAdaptation(options_.stages));
    std::vector<Estimate<T>> groups;
    each_group(
        gradient, exempt_parts(model, options_.exempt), together,
        [&](std::span<const Piece<T>> pieces, std::size_t group) {
          const std::size_t n = entries_of(pieces);
          groups.push_back({{pieces.begin(), pieces.end()}, group, kept_of(n, options_.fraction)});
          groups.back().stages = adaptation[group].stages(options_.most_stages());
        });
    moments_.begin(exec, model);
    for (bool first = true, more = true; more; first = false) {
      more = next_stage(exec, std::span(groups), first);
    }

    CutLines lines;
    lines.begin(model.parts().size());
    std::uint64_t wanted = 0, achieved = 0;
    const auto above = count_above(exec, std::span(groups));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const Estimate<T>& group = groups[i];
      for (const auto& piece : group.pieces) {
        lines.set(piece.part, greatest_bits<V>(group.threshold));
      }
      if (group.all <= group.k) continue;  // whatever is not zero is kept
      const double ratio = static_cast<double>(above[i]) / static_cast<double>(group.k);
      wanted += group.k;
      achieved += above[i];
      adaptation[group.number].see(ratio, options_.window, options_.tolerance,
                                   options_.most_stages());
      if (ratio > options_.cap || ratio * options_.cap < 1) {
        lines.set_largest(exec, std::span<const Piece<T>>(group.pieces), group.k, scratch_);
      }
    }
    lines_ = std::move(lines);
    quality_.reset();
    if (wanted > 0) quality_ = static_cast<double>(achieved) / static_cast<double>(wanted);
    before_ = std::exchange(adaptation_, options_.adapt ? std::move(adaptation) : adaptation_);
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return lines_.keep(piece);
  }
  /// What the thresholds kept over what was wanted, in the decision prepared last.
  [[nodiscard]] std::optional<double> quality() const { return quality_; }
  void retract() { adaptation_ = before_; }

  void save(E&, Writer& writer) const {
    writer.value(adaptation_.size());
    for (const auto& group : adaptation_) group.save(writer);
  }
  /// Throws `StateError` where the state is of another model; then nothing has changed.
  void load(E&, const Model& model, Reader& reader) {
    const std::uint64_t size = reader.value();
    if (size != 0 && size != (options_.scope == Scope::global ? 1 : model.parts().size())) {
      throw StateError("pactrain: the state has numbers of stages for " + std::to_string(size) +
                       " groups of entries, which are not this model's; load the state of this "
                       "model");
    }
    std::vector<StageAdaptation> adaptation(size);
    for (auto& group : adaptation) group.load(reader);
    adaptation_ = before_ = std::move(adaptation);
  }

 private:
  /// A group of entries on its way to a threshold.
  template <class T>
  struct Estimate {
    std::vector<Piece<T>> pieces;
    std::size_t number, k;
    std::size_t stages = 1, stage = 0;
    std::uint64_t all = 0;  ///< entries that are not zero, and finite
    double threshold = 0;
    bool done = false;
  };

  /// One fit for each group that wants another. Are there any left? Waits.
  template <class T>
  bool next_stage(E& exec, std::span<Estimate<T>> groups, bool first) {
    const bool gamma = options_.fit == Fit::gamma || options_.fit == Fit::gamma_closed_form;
    for (const Estimate<T>& group : groups) {
      for (const Piece<T>& piece : group.pieces) {
        if (!group.done) moments_.add(exec, piece, group.threshold, first && gamma);
      }
    }
    moments_.read(exec);
    bool more = false;
    for (Estimate<T>& group : groups) {
      if (group.done) continue;
      kernel::Moments sums;
      for (std::size_t i = 0; i < group.pieces.size(); ++i) {
        const std::size_t part = group.pieces[i].part;
        if (i == 0 || part != group.pieces[i - 1].part) moments_.add_to(sums, part);
      }
      if (first) group.all = sums.count;
      more = refine(group, sums, first) || more;
    }
    return more;
  }
  /// Raises the threshold; false where that was the last time.
  template <class T>
  bool refine(Estimate<T>& group, const kernel::Moments& sums, bool first) {
    const double delta = static_cast<double>(group.k) / static_cast<double>(group.all);
    group.done = true;
    if (sums.count == 0 || group.all <= group.k) return false;
    if (first && delta >= options_.first_stage) group.stages = 1;
    const bool only = group.stages == 1;
    const double share = only ? delta
                         : first
                             ? options_.first_stage
                             : std::pow(delta / options_.first_stage, 1 / double(group.stages - 1));
    const bool pareto = options_.fit != Fit::exponential;
    const Fit form = first ? options_.fit : pareto ? Fit::generalised_pareto : Fit::exponential;
    const double over = tail_quantile(form, TailMoments::of(sums), share);
    // A fit that fails leaves the threshold where it is, and the count decides.
    if (!(over > 0) || !std::isfinite(over)) return false;
    group.threshold += over;
    group.done = ++group.stage >= group.stages;
    return !group.done;
  }
  /// How many entries of each group lie above its threshold. Waits.
  template <class T>
  std::vector<std::uint64_t> count_above(E& exec, std::span<const Estimate<T>> groups) {
    using V = std::remove_const_t<T>;
    std::size_t pieces = 0, at = 0;
    for (const auto& group : groups) pieces += group.pieces.size();
    const auto sums = scratch_.template take<std::size_t>(exec, pieces);
    for (const auto& group : groups) {
      const auto bar = static_cast<bits_t<V>>(greatest_bits<V>(group.threshold) + 1);
      for (const Piece<T>& piece : group.pieces) {
        reduce_fast(exec, piece.size, std::size_t{0}, kernel::CountAtLeast<V>{piece.data, {}, bar},
                    kernel::Add{}, std::span<std::size_t, 1>(sums.data() + at++, 1));
      }
    }
    std::vector<std::size_t> counts(pieces);
    exec.read(as_const_span(sums), std::span(counts));
    std::vector<std::uint64_t> above(groups.size());
    at = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (std::size_t j = 0; j < groups[i].pieces.size(); ++j) above[i] += counts[at++];
    }
    return above;
  }
  template <class T>
  std::vector<std::uint64_t> count_above(E& exec, std::span<Estimate<T>> groups) {
    return count_above(exec, std::span<const Estimate<T>>(groups));
  }

  SIDCo options_;
  std::vector<StageAdaptation> adaptation_, before_;
  std::optional<double> quality_;
  CutLines lines_;
  PartMoments<E> moments_;
  Scratch<E> scratch_;
};

}  // namespace pactrain

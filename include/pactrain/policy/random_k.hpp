// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/select_largest.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/kernel/random_scores.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/kept_bits.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/random_share.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pactrain {

/// Keeps random entries, the same on all ranks and others in every step: random-k with a shared
/// seed (Foroutan Eghlidi and Jaggi, arXiv 2009.09271; PowerSGD's baselines), which all-reduce sums
/// without indices.
///
/// Of n entries exactly max(1, floor(fraction * n)) are kept (`kept_of`), of each parameter or of
/// the whole model. An entry's rank is a function of (seed, parameter, step, index) alone, so that
/// nothing that is skipped or restarted shifts it. What is not kept waits in the residual, where
/// there is one. Without one the result is an estimate of `fraction` times the gradient;
/// `unbiased` multiplies what is sent by n / kept, which makes its mean over steps the gradient and
/// its variance n / kept times as large. A feedback with it would count entries twice: the reducer
/// refuses that. Each step draws n numbers, and ranks compare masks.
///
/// Throws `PreconditionError` for a fraction outside (0, 1] and for an unknown exempt name.
struct RandomK {
  double fraction = 0;                   ///< the share that is kept, in (0, 1]
  std::uint64_t seed = 0;                ///< the same on all ranks
  bool unbiased = false;                 ///< multiply by n / kept; not with a feedback
  Scope scope = Scope::per_parameter;    ///< where entries are chosen from
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    options(fraction)(seed)(unbiased)(scope);
    add_names(options, exempt);
    return options.value();
  }

  template <Executor E>
  class on;
};

template <Executor E>
class RandomK::on {
 public:
  explicit on(const RandomK& options) : options_(options) { expects_fraction(options.fraction); }

  [[nodiscard]] std::uint64_t revision(Step step) const { return step; }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>>, Step step) {
    const auto whole = exempt_parts(model, options_.exempt);
    RandomShare share(model, whole, options_.fraction, options_.scope);
    const auto scores = scores_.template take<float>(exec, model.size());
    const Random random{kernel::mix(options_.seed, 'k'), step};
    std::vector<Ranked<float>> runs;
    std::vector<std::size_t> parts;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Part& part = model.parts()[i];
      if (whole[i]) continue;
      const auto of_part = scores.subspan(part.first, part.size);
      exec.for_each((part.size + 3) / 4,
                    kernel::RandomScores{random, i, part.size, of_part.data()});
      runs.push_back({of_part, {}});
      parts.push_back(i);
    }
    std::vector<kernel::Cut<float>> cuts(runs.size());
    const std::size_t together = options_.scope == Scope::global ? runs.size() : 1;
    for (std::size_t i = 0; i < runs.size(); i += together) {
      select_largest(exec, std::span<const Ranked<float>>(runs).subspan(i, together),
                     share[parts[i]].taken, std::span(cuts).subspan(i, together), scratch_);
    }
    kept_.begin(exec, model.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Part& part = model.parts()[i];
      if (whole[i]) kept_.assign(exec, part.first, part.size, kernel::Among{});
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Part& part = model.parts()[parts[i]];
      kept_.assign(exec, part.first, part.size,
                   kernel::KeepLargest<float>{runs[i].values.data(), {}, cuts[i]});
    }
    share_ = std::move(share);
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return kept_.from(piece.first);
  }
  [[nodiscard]] double gain(std::size_t part) const {
    return options_.unbiased ? share_.gain(part) : 1;
  }

 private:
  RandomK options_;
  RandomShare share_;
  KeptBits<E> kept_;
  Scratch<E> scores_, scratch_;
};

}  // namespace pactrain

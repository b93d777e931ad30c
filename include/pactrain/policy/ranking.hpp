// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/select_largest.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/sparsity.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// The cut of each run, those of these parts, that prunes its part's share of it, or one share of
/// all runs together: exactly `fraction_of(n, sparsity)` of n entries, the lowest magnitudes, of
/// equal ones the last. Waits.
template <Executor E, GradientValue T>
[[nodiscard]] std::vector<kernel::Cut<T>> cuts_at(E& exec, std::span<const Ranked<T>> runs,
                                                  std::span<const std::size_t> parts, Scope scope,
                                                  const Sparsity& sparsities, Scratch<E>& scratch) {
  std::vector<kernel::Cut<T>> cuts(runs.size());
  const auto select = [&](std::size_t begin, std::size_t count) {
    const double sparsity = count > 0 ? sparsities.of(parts[begin]) : 0;
    std::size_t n = 0;
    for (const Ranked<T>& run : runs.subspan(begin, count)) n += run.values.size();
    select_largest(exec, runs.subspan(begin, count), n - fraction_of(n, sparsity),
                   std::span(cuts).subspan(begin, count), scratch);
  };
  if (scope == Scope::global) {
    select(0, runs.size());
  } else {
    for (std::size_t i = 0; i < runs.size(); ++i) select(i, 1);
  }
  return cuts;
}

/// Throws `PreconditionError` unless there are weights.
inline void expects_weights(const Values& weights) {
  expects(!weights.empty(), [] {
    return "the policy has no weights (they are what it ranks); pass the model's, as in "
           "{.weights = weights, ...}";
  });
}

/// Throws `PreconditionError` unless `weights`, which may be called otherwise, are laid out as
/// `model` is.
inline void expects_layout(const Values& weights, const Model& model,
                           const std::string& what = "weights") {
  const auto theirs = weights.parts();
  expects(theirs.size() == model.parts().size(), [&] {
    return "the " + what + " have " + std::to_string(theirs.size()) +
           " parts but the gradient has " + std::to_string(model.parts().size()) +
           " (entries are kept by position); pass the " + what + " of the same layers";
  });
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    expects(theirs[i].size == model.parts()[i].size, [&] {
      return "the " + what + " of '" + model.parts()[i].name + "' have " +
             std::to_string(theirs[i].size) + " entries but its gradient has " +
             std::to_string(model.parts()[i].size) + " (entries are kept by position); pass the " +
             what + " of the same layers";
    });
  }
}

/// Throws `PreconditionError` where part `part` of the weights, which may be called otherwise,
/// holds a NaN. Waits.
template <GradientValue T, Executor E>
void expects_no_nan(E& exec, const Model& model, std::size_t part, std::span<const T> weights,
                    Scratch<E>& scratch, const std::string& what = "weights") {
  auto first = scratch.template take<std::size_t>(exec, 1);
  std::size_t found = weights.size();
  exec.reduce(weights.size(), found, kernel::NanIndex<T>{weights.data(), weights.size()},
              kernel::Smallest{}, std::span<std::size_t, 1>(first.data(), 1));
  exec.read(as_const_span(first), std::span(&found, 1));
  expects(found == weights.size(), [&] {
    return "the " + what + " hold a NaN at " + model.describe(model.parts()[part].first + found) +
           " (it has no place in a ranking); find the step that made it, or load an earlier state";
  });
}

}  // namespace pactrain

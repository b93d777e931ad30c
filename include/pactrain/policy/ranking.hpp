// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/select_largest.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// The cut of each run that prunes the share `sparsity` of it, or of all runs together: exactly
/// `fraction_of(n, sparsity)` of n entries, the lowest magnitudes, of equal ones the last. Waits.
template <Executor E, GradientValue T>
[[nodiscard]] std::vector<kernel::Cut<T>> cuts_at(E& exec, std::span<const Ranked<T>> runs,
                                                  Scope scope, double sparsity,
                                                  Scratch<E>& scratch) {
  std::vector<kernel::Cut<T>> cuts(runs.size());
  const auto select = [&](std::size_t begin, std::size_t count) {
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

/// Throws `PreconditionError` unless the sparsity called `name` lies in [0, 1).
inline void expects_sparsity(double sparsity, const char* name) {
  expects(sparsity >= 0 && sparsity < 1, [&] {
    return std::string(name) + " is " + std::to_string(sparsity) +
           " (it is the share of entries that is pruned); choose one in [0, 1)";
  });
}

/// Throws `PreconditionError` unless there are weights.
inline void expects_weights(const Values& weights) {
  expects(!weights.empty(), [] {
    return "the policy has no weights (they are what it ranks); pass the model's, as in "
           "{.weights = weights, ...}";
  });
}

/// Throws `PreconditionError` unless `weights` are laid out as `model` is.
inline void expects_layout(const Values& weights, const Model& model) {
  const auto theirs = weights.parts();
  expects(theirs.size() == model.parts().size(), [&] {
    return "the weights have " + std::to_string(theirs.size()) + " parts but the gradient has " +
           std::to_string(model.parts().size()) +
           " (entries are kept by position); pass the weights of the same layers";
  });
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    expects(theirs[i].size == model.parts()[i].size, [&] {
      return "the weights of '" + model.parts()[i].name + "' have " +
             std::to_string(theirs[i].size) + " entries but its gradient has " +
             std::to_string(model.parts()[i].size) +
             " (entries are kept by position); pass the weights of the same layers";
    });
  }
}

/// Throws `PreconditionError` where part `part` of the weights holds a NaN. Waits.
template <GradientValue T, Executor E>
void expects_no_nan(E& exec, const Model& model, std::size_t part, std::span<const T> weights,
                    Scratch<E>& scratch) {
  auto first = scratch.template take<std::size_t>(exec, 1);
  std::size_t found = weights.size();
  exec.reduce(weights.size(), found, kernel::NanIndex<T>{weights.data(), weights.size()},
              kernel::Smallest{}, std::span<std::size_t, 1>(first.data(), 1));
  exec.read(as_const_span(first), std::span(&found, 1));
  expects(found == weights.size(), [&] {
    return "the weights hold a NaN at " + model.describe(model.parts()[part].first + found) +
           " (it has no place in a ranking); find the step that made it, or load an earlier state";
  });
}

}  // namespace pactrain

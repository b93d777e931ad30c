// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace pactrain {

/// The share of entries that is pruned, in [0, 1): one number for all parts, or one for each part
/// of the model, in its order (those of exempt parts do not count). Both convert to it.
class Sparsity {
 public:
  Sparsity(double all = 0) : all_(all) {}
  Sparsity(std::vector<double> by_part) : by_part_(std::move(by_part)) {}
  /// One minus each density, as `erk_densities` gives them.
  [[nodiscard]] static Sparsity from_densities(std::vector<double> densities) {
    for (double& density : densities) density = 1 - density;
    return Sparsity(std::move(densities));
  }

  [[nodiscard]] double of(std::size_t part) const {
    return by_part_.empty() ? all_ : by_part_[part];
  }
  [[nodiscard]] bool is_by_part() const noexcept { return !by_part_.empty(); }

  void add_to(Fingerprint& options) const {
    options(all_)(by_part_.size());
    for (const double sparsity : by_part_) options(sparsity);
  }
  /// Throws `PreconditionError` unless every number is in [0, 1), and there is but one where parts
  /// are ranked together; `name` is that of the option.
  void expect_valid(const char* name, Scope scope) const {
    expects_sparsity(all_, name);
    for (std::size_t i = 0; i < by_part_.size(); ++i) {
      expects_sparsity(by_part_[i], (std::string(name) + " of part " + std::to_string(i)).c_str());
    }
    expects(!is_by_part() || scope == Scope::per_parameter, [&] {
      return std::string(name) +
             " is given for each part but parts are ranked together; give one number, or take "
             "Scope::per_parameter";
    });
  }
  /// Throws `PreconditionError` unless there is a number for each part of the model.
  void expect_fits(const Model& model) const {
    expects(!is_by_part() || by_part_.size() == model.parts().size(), [&] {
      return "there are " + std::to_string(by_part_.size()) + " sparsities but the model has " +
             std::to_string(model.parts().size()) + " parts; give one for each, in order";
    });
  }

 private:
  double all_ = 0;
  std::vector<double> by_part_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/model.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstddef>
#include <vector>

namespace pactrain {

/// How many entries a random selection takes: of each part that is not kept whole, or of all of
/// them together, and what that makes of a gain.
class RandomShare {
 public:
  RandomShare() = default;
  RandomShare(const Model& model, const std::vector<bool>& whole, double fraction, Scope scope) {
    std::size_t all = 0;
    for (std::size_t part = 0; part < whole.size(); ++part) {
      const std::size_t size = whole[part] ? 0 : model.parts()[part].size;
      parts_.push_back({scope == Scope::global ? all : 0, size, kept_of(size, fraction)});
      all += size;
    }
    if (scope != Scope::global) return;
    for (std::size_t part = 0; part < whole.size(); ++part) {
      if (!whole[part]) parts_[part].of = all;
      parts_[part].taken = kept_of(parts_[part].of, fraction);
    }
  }

  /// Where a part begins among what is chosen from together, how many those are, and how many of
  /// them are taken.
  struct Of {
    std::size_t first = 0, of = 0, taken = 0;
  };
  [[nodiscard]] const Of& operator[](std::size_t part) const { return parts_[part]; }
  /// What makes the mean over draws of a taken or zero entry the entry.
  [[nodiscard]] double gain(std::size_t part) const {
    if (part >= parts_.size() || parts_[part].taken == 0) return 1;
    return static_cast<double>(parts_[part].of) / static_cast<double>(parts_[part].taken);
  }

 private:
  std::vector<Of> parts_;
};

}  // namespace pactrain

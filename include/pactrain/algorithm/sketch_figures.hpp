// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>

namespace pactrain {

/// What the sketch of the last call was like.
struct SketchFigures {
  std::size_t cells = 0, rounds = 0;  ///< of the sketch, and of its peeling
  std::size_t unresolved = 0;         ///< entries that could not be peeled: repaired, or estimated
  std::size_t rounded = 0;  ///< values of this rank that the agreed unit did not hold as they are
  std::size_t index_bits = 0;  ///< of the index, as it travelled

  explicit SketchFigures(const auto& /*options*/) {}
};

}  // namespace pactrain

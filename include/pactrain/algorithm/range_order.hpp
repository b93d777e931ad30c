// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/indices.hpp>
#include <pactrain/kernel/streams.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// The positions of a vector by their owner, where each rank owns a range: as they stand.
template <Executor E>
class RangeOrder {
 public:
  void lay_out(E&, std::size_t n, std::size_t ranks) {
    cuts_.assign(1, 0);
    for (std::size_t r = 0; r < ranks; ++r) {
      cuts_.push_back(share_of(n, static_cast<int>(r), static_cast<int>(ranks)).end);
    }
  }
  /// Rank r owns places [cuts[r], cuts[r + 1]).
  [[nodiscard]] std::span<const std::size_t> cuts() const noexcept { return cuts_; }
  /// The places of what a mask keeps.
  template <class MaskOn>
  [[nodiscard]] kernel::Indices places(E&, const MaskOn& mask) {
    return mask.keep();
  }
  /// Values by place.
  template <class S>
  [[nodiscard]] const S* values(E&, std::span<const S> packed) {
    return packed.data();
  }
  /// Puts the value in a slot where the place of an owner stands that it is said to have.
  template <class T>
  [[nodiscard]] kernel::PlaceAt<T> back(const T* values, std::size_t owner, T* out) const {
    return {values, out + cuts_[owner]};
  }

 private:
  std::vector<std::size_t> cuts_;
};

}  // namespace pactrain

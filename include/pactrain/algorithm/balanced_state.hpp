// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pactrain {

/// What a balanced exchange knows from earlier steps: thresholds and the regions of owners, each
/// with the step at which it is due to be found anew. A threshold of 0 is none.
struct BalancedMemory {
  double local = 0, global = 0;
  Step local_due = 0, global_due = 0, regions_due = 0;
  std::vector<std::uint64_t> cuts = {};  ///< empty: none, else 0, ..., the number of values
};

/// The memory as a codec's state: it changes by accepted steps only, so that there is nothing to
/// retract.
template <Executor E>
class BalancedState {
 public:
  explicit BalancedState(const auto&) {}

  [[nodiscard]] const BalancedMemory& memory() const noexcept { return memory_; }
  void commit(BalancedMemory memory) { memory_ = std::move(memory); }
  void save(E&, Writer& writer) const {
    writer.value(memory_.local);
    writer.value(memory_.global);
    writer.value(memory_.local_due);
    writer.value(memory_.global_due);
    writer.value(memory_.regions_due);
    writer.value(memory_.cuts.size());
    writer.array(std::span<const std::uint64_t>(memory_.cuts));
  }
  /// Throws `StateError`.
  void load(E&, const Model& model, Reader& reader) {
    BalancedMemory memory;
    memory.local = reader.real();
    memory.global = reader.real();
    memory.local_due = reader.value();
    memory.global_due = reader.value();
    memory.regions_due = reader.value();
    const std::uint64_t cuts = reader.value();
    const auto damaged = [](bool is) {
      if (is) throw StateError("pactrain: the state is damaged (thresholds or regions cannot be)");
    };
    const auto threshold = [](double x) { return x >= 0 && std::isfinite(x); };
    damaged(!threshold(memory.local) || !threshold(memory.global) || cuts > (1u << 24));
    memory.cuts = reader.array<std::uint64_t>(cuts, "regions");
    damaged(!std::ranges::is_sorted(memory.cuts) ||
            (cuts > 0 && (memory.cuts[0] != 0 || memory.cuts.back() > model.size())));
    memory_ = std::move(memory);
  }

 private:
  BalancedMemory memory_;
};

}  // namespace pactrain

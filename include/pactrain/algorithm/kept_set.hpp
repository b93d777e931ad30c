// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cstddef>
#include <span>

namespace pactrain {

/// What `set.slot(position)` says on the executor. Waits.
template <Executor E, class Set>
[[nodiscard]] std::size_t slot_of(E& exec, Scratch<E>& scratch, Set set, std::size_t position) {
  const auto out = scratch.template take<std::size_t>(exec, 1);
  exec.for_each(1, kernel::SlotAt<Set>{set, position, out.data()});
  std::size_t slot = 0;
  exec.read(as_const_span(out), std::span(&slot, 1));
  return slot;
}

/// `values`, which stand at positions `first` ..., become +0.0 where `set`, a predicate on
/// positions, does not keep them; the others are not touched.
template <Executor E, class Set, class T>
void clear_unkept(E& exec, Set set, std::size_t first, std::span<T> values) {
  if (values.empty()) return;
  using Clear = kernel::ClearAt<T>;
  const std::size_t last = first + values.size();
  exec.for_each((last - 1) / kernel::word_bits - first / kernel::word_bits + 1,
                kernel::VisitUnkept<Set, Clear>{Clear{values.data(), first}, set, first, last});
}

}  // namespace pactrain

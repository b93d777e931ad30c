// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/bloom.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kernel/sketch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// Which cells the items of an index have, and in which order they come out of them: the same on
/// all ranks, since it is made of the index alone. Li et al., arXiv 2402.07529: a count sketch in
/// which an item is recovered where it is alone in a cell.
template <Executor E>
class SketchPlan {
 public:
  /// For items at `positions` (executor memory; distinct; ascending), `per_segment` a segment or a
  /// few more; the three tables of a segment have so many cells that its fullest lane fills a share
  /// `load` of them. Waits.
  void make(E& exec, std::span<const std::size_t> positions, std::size_t per_segment,
            std::size_t lanes, double load, std::uint64_t seed) {
    segments_ = {positions.size(), std::max<std::size_t>(positions.size() / per_segment, 1)};
    const std::size_t n = segments_.count, items = segments_.items;
    const auto rows = rows_.template take<std::size_t>(exec, n);
    const auto cells_before = cells_before_.template take<std::size_t>(exec, n);
    const auto sums = sums_.template take<std::size_t>(exec, 3);
    const auto sum = [&](std::size_t i) { return std::span<std::size_t, 1>(&sums[i], 1); };
    const auto loads = zeros(exec, counts_, n * lanes);
    exec.for_each(n, kernel::SizeSegment{segments_, positions.data(), lanes, load, loads.data(),
                                         rows.data()});
    exec.scan(n, kernel::CellsOf{rows.data(), lanes}, cells_before, sum(0));
    const auto links = links_.template take<kernel::Link>(exec, 3 * items);
    exec.for_each(items, kernel::LinkItem{segments_, positions.data(), lanes, rows.data(), seed,
                                          links.data()});
    exec.read(as_const_span(sums.first(1)), std::span(&cells_, 1));
    const auto counts = zeros(exec, counts_, cells_);
    const auto turns = turns_.template take<kernel::Turn>(exec, items);
    const auto waiting = waiting_.template take<std::uint32_t>(exec, items);
    const auto resolved = resolved_.template take<std::size_t>(exec, n);
    const auto rounds = rounds_buffer_.template take<std::size_t>(exec, n);
    exec.for_each(n, kernel::Peel{segments_, links.data(), cells_before.data(), counts.data(),
                                  turns.data(), waiting.data(), resolved.data(), rounds.data()});
    const auto before = unresolved_before_.template take<std::size_t>(exec, n);
    exec.scan(n, kernel::Unresolved{segments_, resolved.data()}, before, sum(1));
    exec.reduce(n, std::size_t{0}, kernel::NumberAt{rounds.data()}, kernel::Largest{}, sum(2));
    std::size_t found[3];
    exec.read(as_const_span(sums), std::span<std::size_t>(found));
    unresolved_ = found[1];
    rounds_ = found[2];
    plan_ = {segments_,           links.data(),    turns.data(), waiting.data(),
             cells_before.data(), resolved.data(), before.data()};
  }

  [[nodiscard]] const kernel::SketchPlan& plan() const noexcept { return plan_; }
  [[nodiscard]] std::size_t segments() const noexcept { return segments_.count; }
  [[nodiscard]] std::size_t cells() const noexcept { return cells_; }
  /// Items that no round brings out.
  [[nodiscard]] std::size_t unresolved() const noexcept { return unresolved_; }
  /// The most that a segment takes.
  [[nodiscard]] std::size_t rounds() const noexcept { return rounds_; }

 private:
  static std::span<std::uint32_t> zeros(E& exec, Scratch<E>& scratch, std::size_t n) {
    const auto x = scratch.template take<std::uint32_t>(exec, n);
    exec.for_each(n, kernel::Fill<std::uint32_t>{x.data(), 0});
    return x;
  }

  kernel::Segments segments_;
  kernel::SketchPlan plan_{};
  std::size_t cells_ = 0, unresolved_ = 0, rounds_ = 0;
  Scratch<E> rows_, cells_before_, sums_, counts_, links_, turns_, waiting_, resolved_,
      rounds_buffer_, unresolved_before_;
};

}  // namespace pactrain

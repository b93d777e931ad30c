// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/flags.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/kernel/sketch_head.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pactrain {

/// What ranks tell each other before a sketch is made, together.
struct SketchHead {
  double largest = 0;       ///< magnitude on any rank
  bool non_finite = false;  ///< a rank's call was wrong, or it has a value that is not finite
  std::size_t entries = 0;  ///< that differ from zero, added over ranks
};

/// Gathers it.
template <Executor E>
class SketchHeads {
 public:
  /// Makes this rank's; `entries` of its values differ from zero.
  template <class T>
  void make(E& exec, std::span<const T> values, std::size_t entries,
            std::span<const std::uint32_t> flags) {
    const auto largest = largest_.template take<std::uint64_t>(exec, 1);
    exec.reduce(values.size(), std::uint64_t{0}, kernel::MagnitudeAt<T>{values.data()},
                kernel::Largest{}, std::span<std::uint64_t, 1>(largest.data(), 1));
    const auto mine = mine_.template take<std::uint64_t>(exec, words);
    exec.for_each(1, kernel::WriteHead<T>{largest.data(), flags.data(), entries, mine.data()});
  }
  /// Starts the gathering of all ranks'.
  template <class C>
  auto start(E& exec, C& comm) {
    counts_.assign(static_cast<std::size_t>(comm.size()), words);
    const auto all = all_.template take<std::uint64_t>(exec, words * counts_.size());
    return comm.start_all_gather(exec, as_const_span(mine_.template view<std::uint64_t>(words)),
                                 std::span<const std::size_t>(counts_), all);
  }
  /// What they say, once they are here; `flags` become those of all ranks. Waits for the queue.
  SketchHead read(E& exec, std::span<std::uint32_t> flags) {
    host_.resize(words * counts_.size());
    exec.read(as_const_span(all_.template view<std::uint64_t>(host_.size())),
              std::span<std::uint64_t>(host_));
    SketchHead head;
    std::uint64_t raised = 0;
    for (std::size_t at = 0; at < host_.size(); at += words) {
      head.largest = std::max(head.largest, bits_as<double>(host_[at]));
      raised |= host_[at + 1];
      head.entries += host_[at + 2];
    }
    head.non_finite = (raised >> kernel::non_finite_flag & 1) != 0;
    exec.for_each(flags.size(), kernel::SetFlags{raised, flags.data()});
    return head;
  }

 private:
  static constexpr std::size_t words = 3;
  std::vector<std::size_t> counts_;
  std::vector<std::uint64_t> host_;
  Scratch<E> largest_, mine_, all_;
};

}  // namespace pactrain

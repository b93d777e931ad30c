// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/flags.hpp>
#include <pactrain/kernel/pack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pactrain {

namespace kernel {

/// The magnitude of x[i], as an integer that orders as magnitudes do.
template <class T>
struct MagnitudeAt {
  const T* x;
  PACTRAIN_FN std::uint64_t operator()(std::size_t i) const { return magnitude(x[i]); }
};

/// A rank's head, three words: its largest magnitude as the bits of a double, 1 where its call was
/// wrong or a value is not finite, and how many entries differ from zero.
template <class T>
struct WriteHead {
  const std::uint64_t* largest;
  std::size_t pieces;
  const std::uint32_t* flags;
  std::uint64_t entries;
  std::uint64_t* head;
  PACTRAIN_FN void operator()(std::size_t) const {
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < pieces; ++i) all = all < largest[i] ? largest[i] : all;
    const bool finite = all < exponent_mask<T>;
    const T value = bits_as<T>(static_cast<bits_t<T>>(finite ? all : 0));
    head[0] = bits_as<std::uint64_t>(static_cast<double>(static_cast<arithmetic_t<T>>(value)));
    head[1] = !finite || flags[non_finite_flag] != 0 ? 1 : 0;
    head[2] = entries;
  }
};

}  // namespace kernel

/// What ranks tell each other before a sketch is made.
struct SketchHead {
  double largest = 0;       ///< magnitude on any rank
  bool flagged = false;     ///< a rank's call was wrong, or it has a value that is not finite
  std::size_t entries = 0;  ///< that differ from zero, added over ranks
};

/// Gathers it.
template <Executor E>
class SketchHeads {
 public:
  /// Raises the flag of values that are not finite where a rank has one: their sums are no
  /// integers, whoever looks. Collective; waits.
  template <class C, class T>
  SketchHead gather(E& exec, C& comm, std::span<const Piece<T>> pieces, std::size_t entries,
                    std::span<std::uint32_t> flags) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    const auto largest = largest_.template take<std::uint64_t>(exec, pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      exec.reduce(pieces[i].size, std::uint64_t{0}, kernel::MagnitudeAt<T>{pieces[i].data},
                  kernel::Largest{}, std::span<std::uint64_t, 1>(&largest[i], 1));
    }
    const auto mine = mine_.template take<std::uint64_t>(exec, words);
    const auto all = all_.template take<std::uint64_t>(exec, words * ranks);
    exec.for_each(
        1, kernel::WriteHead<T>{largest.data(), pieces.size(), flags.data(), entries, mine.data()});
    counts_.assign(ranks, words);
    all_gather(exec, comm, as_const_span(mine), std::span<const std::size_t>(counts_), all);
    host_.resize(all.size());
    exec.read(as_const_span(all), std::span<std::uint64_t>(host_));
    SketchHead head;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      head.largest = std::max(head.largest, bits_as<double>(host_[words * rank]));
      head.flagged = head.flagged || host_[words * rank + 1] != 0;
      head.entries += host_[words * rank + 2];
    }
    if (head.flagged) {
      exec.for_each(1, kernel::Fill<std::uint32_t>{flags.data() + kernel::non_finite_flag, 1});
    }
    return head;
  }

 private:
  static constexpr std::size_t words = 3;
  std::vector<std::size_t> counts_;
  std::vector<std::uint64_t> host_;
  Scratch<E> largest_, mine_, all_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

namespace kernel {

/// The hash of the positions of [first, last) in one word of a set.
template <class Set>
struct HashSet {
  Set set;
  std::size_t first, last;
  PACTRAIN_FN std::uint64_t operator()(std::size_t i) const {
    const std::size_t word = first / word_bits + i;
    const Word bits = word_of(set, word, first, last);
    return bits == 0 ? 0 : mix(bits, word);
  }
};

}  // namespace kernel

/// A fingerprint of the positions of [first, last) in `set`, a predicate on positions: it does not
/// depend on how the set is stored, on the executor or on its threads. Waits. Sets that have
/// `word(index)`, 64 positions at once, are asked for words.
template <Executor E, class Set>
[[nodiscard]] std::uint64_t fingerprint_of(E& exec, Scratch<E>& scratch, std::size_t first,
                                           std::size_t last, Set set) {
  if (first >= last) return 0;
  const auto sum = scratch.template take<std::uint64_t>(exec, 1);
  const std::size_t words = (last - 1) / kernel::word_bits - first / kernel::word_bits + 1;
  exec.reduce(words, std::uint64_t{0}, kernel::HashSet<Set>{set, first, last}, kernel::Add{},
              std::span<std::uint64_t, 1>(sum.data(), 1));
  std::uint64_t result = 0;
  exec.read(as_const_span(sum), std::span(&result, 1));
  return result;
}

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>

namespace pactrain::kernel {

/// Is the entry a zero of either sign?
template <class T>
struct IsZero {
  const T* x;
  PACTRAIN_FN bool operator()(std::size_t i) const { return magnitude(x[i]) == 0; }
};

/// The positions of one word, of a run of `n` values at position `first`, whose value is not zero.
template <class T>
struct NonZeroWord {
  const T* x;
  std::size_t first, n;
  PACTRAIN_FN Word operator()(std::size_t word) const {
    const std::size_t begin = word * word_bits;
    const std::size_t low = begin > first ? begin : first;
    const std::size_t high = begin + word_bits < first + n ? begin + word_bits : first + n;
    Word bits = 0;
    for (std::size_t p = low; p < high; ++p) {
      bits |= static_cast<Word>(magnitude(x[p - first]) != 0 ? 1 : 0) << (p - begin);
    }
    return bits;
  }
};

/// How many positions of the set `zeros` are zero no longer, in one word of a run.
template <class T>
struct CountLost {
  NonZeroWord<T> non_zero;
  const Word* zeros;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    const std::size_t word = non_zero.first / word_bits + i;
    return zeros[word] == 0 ? 0 : popcount(zeros[word] & non_zero(word));
  }
};

/// Takes those positions out of the set.
template <class T>
struct DropLost {
  NonZeroWord<T> non_zero;
  Word* zeros;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t word = non_zero.first / word_bits + i;
    if (zeros[word] != 0) zeros[word] &= ~non_zero(word);
  }
};

/// Keeps what is not in the set `zeros`, the first entry at position `first`; everything where
/// there are no words.
struct KeepOutside {
  const Word* zeros = nullptr;
  std::size_t first = 0;
  PACTRAIN_FN bool operator()(std::size_t i) const {
    const std::size_t position = first + i;
    return zeros == nullptr || (zeros[position / word_bits] >> position % word_bits & 1) == 0;
  }
};

}  // namespace pactrain::kernel

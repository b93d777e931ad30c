// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// Sixty-four positions, the lowest in the lowest bit.
using Word = std::uint64_t;
inline constexpr std::size_t word_bits = 64;
/// Words between two entries of a bit mask's directory.
inline constexpr std::size_t group_words = 8;
inline constexpr std::size_t group_bits = group_words * word_bits;

PACTRAIN_FN constexpr std::size_t words_for(std::size_t n) {
  return (n + word_bits - 1) / word_bits;
}
PACTRAIN_FN constexpr std::size_t groups_for(std::size_t n) {
  return (n + group_bits - 1) / group_bits;
}

/// The number of ones in a word. (By builtins, which device code may call; <bit> it may not.)
PACTRAIN_FN constexpr std::size_t popcount(Word word) {
  return static_cast<std::size_t>(__builtin_popcountll(word));
}
/// The position of the lowest one. Precondition: there is one.
PACTRAIN_FN constexpr std::size_t lowest(Word word) {
  return static_cast<std::size_t>(__builtin_ffsll(static_cast<long long>(word)) - 1);
}
/// Ones at the positions [first, last) of the word that begins at position `begin`.
PACTRAIN_FN constexpr Word between(std::size_t begin, std::size_t first, std::size_t last) {
  Word ones = ~Word{0};
  if (first > begin) ones &= ~Word{0} << (first - begin);
  if (last < begin + word_bits) ones &= ~(~Word{0} << (last - begin));
  return ones;
}

/// word[0] loses the bits that are not in `keep`.
struct Restrict {
  Word* word;
  Word keep;
  PACTRAIN_FN void operator()(std::size_t) const { *word &= keep; }
};

/// A set of positions as bits, and for each group of words the number of ones before it. Pointers
/// into an executor's memory; bits beyond the last position are zero.
struct Bits {
  const Word* words = nullptr;
  const std::size_t* before = nullptr;

  PACTRAIN_FN bool operator()(std::size_t position) const {
    return (words[position / word_bits] >> position % word_bits & 1) != 0;
  }
  PACTRAIN_FN Word word(std::size_t index) const { return words[index]; }
  /// How many positions below `position` are in the set.
  PACTRAIN_FN std::size_t slot(std::size_t position) const {
    const std::size_t group = position / group_bits;
    std::size_t count = before[group];
    std::size_t word = group * group_words;
    for (; (word + 1) * word_bits <= position; ++word) count += popcount(words[word]);
    if (position % word_bits != 0) {
      count += popcount(words[word] & ~(~Word{0} << position % word_bits));
    }
    return count;
  }
};

/// What `keep` says of the 64 entries from `at` on: bytes first, which compilers make by vectors,
/// then bits of these.
template <class Keep>
PACTRAIN_FN Word word_of_answers(const Keep& keep, std::size_t at) {
  std::uint8_t kept[word_bits];
  for (std::size_t i = 0; i < word_bits; ++i) kept[i] = keep(at + i) ? 1 : 0;
  Word bits = 0;
  for (std::size_t byte = 0; byte < word_bits / 8; ++byte) {
    Word eight = 0;
    for (std::size_t i = 0; i < 8; ++i) eight |= static_cast<Word>(kept[8 * byte + i]) << 8 * i;
    bits |= (eight * 0x0102040810204080u >> 56) << 8 * byte;
  }
  return bits;
}

/// The same, by the way that `keep` has of its own, where it has one.
template <class Keep>
PACTRAIN_FN Word kept_word(const Keep& keep, std::size_t at) {
  if constexpr (requires { keep.word_at(at); }) {
    return keep.word_at(at);
  } else {
    return word_of_answers(keep, at);
  }
}

/// Sets the bits of positions [first, first + n) to what `keep` says of 0 ... n - 1. One call a
/// word, so that a word is written by one thread; its other bits stay.
template <class Keep>
struct Assign {
  Keep keep;
  std::size_t first, n;
  Word* words;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t word = first / word_bits + i;
    const std::size_t begin = word * word_bits;
    const std::size_t low = begin > first ? begin : first;
    const std::size_t high = begin + word_bits < first + n ? begin + word_bits : first + n;
    if (high - low == word_bits) {
      words[word] = kept_word(keep, low - first);
      return;
    }
    Word bits = 0;
    for (std::size_t p = low; p < high; ++p) {
      bits |= static_cast<Word>(keep(p - first) ? 1 : 0) << (p - begin);
    }
    words[word] = (words[word] & ~between(begin, first, first + n)) | bits;
  }
};

/// The number of ones in group `group` of `words` (of `count` words).
struct CountGroup {
  const Word* words;
  std::size_t count;
  PACTRAIN_FN std::size_t operator()(std::size_t group) const {
    const std::size_t begin = group * group_words;
    const std::size_t end = begin + group_words < count ? begin + group_words : count;
    std::size_t ones = 0;
    for (std::size_t word = begin; word < end; ++word) ones += popcount(words[word]);
    return ones;
  }
};

/// Calls f(slot, position) for the ones of [first, last) in one group, positions ascending.
template <class F>
struct VisitGroup {
  F f;
  Bits bits;
  std::size_t first, last;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t group = first / group_bits + i;
    std::size_t slot = bits.before[group];
    const std::size_t end = (group + 1) * group_bits < last ? (group + 1) * group_bits : last;
    for (std::size_t begin = group * group_bits; begin < end; begin += word_bits) {
      const Word all = bits.words[begin / word_bits];
      if (begin + word_bits <= first) {
        slot += popcount(all);
        continue;
      }
      const Word in = all & between(begin, first, last);
      slot += begin < first ? popcount(all & ~between(begin, first, begin + word_bits)) : 0;
      for (Word rest = in; rest != 0; rest &= rest - 1) f(slot++, begin + lowest(rest));
    }
  }
};

/// Can a set of positions tell 64 of them at once?
template <class Set>
inline constexpr bool has_words = requires(const Set& set, std::size_t index) {
  { set.word(index) } -> std::same_as<Word>;
};

/// The positions of [first, last) that are in word `index` of a set. Precondition: some are.
template <class Set>
PACTRAIN_FN Word word_of(const Set& set, std::size_t index, std::size_t first, std::size_t last) {
  const std::size_t begin = index * word_bits;
  if constexpr (has_words<Set>) {
    return set.word(index) & between(begin, first, last);
  } else {
    const std::size_t low = begin > first ? begin : first;
    const std::size_t high = begin + word_bits < last ? begin + word_bits : last;
    Word bits = 0;
    for (std::size_t p = low; p < high; ++p) {
      bits |= static_cast<Word>(set(p) ? 1 : 0) << (p - begin);
    }
    return bits;
  }
}

/// Calls f(position) for the positions of [first, last) in one word that are not in the set.
template <class Set, class F>
struct VisitUnkept {
  F f;
  Set set;
  std::size_t first, last;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t word = first / word_bits + i;
    const std::size_t begin = word * word_bits;
    Word rest = between(begin, first, last) & ~word_of(set, word, first, last);
    for (; rest != 0; rest &= rest - 1) f(begin + lowest(rest));
  }
};

/// Each word becomes the union of that word over `ranks` arrays of `count` words.
struct Unite {
  Word* words;
  const Word* all;
  std::size_t count, ranks;
  PACTRAIN_FN void operator()(std::size_t word) const {
    Word united = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) united |= all[rank * count + word];
    words[word] = united;
  }
};

/// A well-mixed 64-bit function of a word and its place (the finaliser of SplitMix64).
PACTRAIN_FN constexpr std::uint64_t mix(std::uint64_t value, std::uint64_t place) {
  std::uint64_t x = value + 0x9e3779b97f4a7c15u * (place + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// Adds; exact for integers, so the order in which an executor combines does not matter.
struct Add {
  template <class T>
  PACTRAIN_FN constexpr T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Or {
  template <class T>
  PACTRAIN_FN constexpr T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Largest {
  template <class T>
  PACTRAIN_FN constexpr T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Smallest {
  template <class T>
  PACTRAIN_FN constexpr T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

}  // namespace pactrain::kernel

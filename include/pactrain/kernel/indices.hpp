// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// Bytes that hold every position of a model of `n` entries.
constexpr std::size_t index_width(std::size_t n) {
  const std::uint64_t largest = n == 0 ? 0 : n - 1;
  return largest <= 0xffffu ? 2 : largest <= 0xffffffffu ? 4 : 8;
}

/// Ascending positions, as unsigned integers of `width` bytes.
struct Indices {
  void* data = nullptr;
  std::size_t count = 0, width = 8;

  PACTRAIN_FN std::size_t at(std::size_t slot) const {
    if (width == 2) return static_cast<const std::uint16_t*>(data)[slot];
    if (width == 4) return static_cast<const std::uint32_t*>(data)[slot];
    return static_cast<const std::uint64_t*>(data)[slot];
  }
  PACTRAIN_FN void put(std::size_t slot, std::size_t position) const {
    if (width == 2) static_cast<std::uint16_t*>(data)[slot] = static_cast<std::uint16_t>(position);
    else if (width == 4)
      static_cast<std::uint32_t*>(data)[slot] = static_cast<std::uint32_t>(position);
    else static_cast<std::uint64_t*>(data)[slot] = position;
  }
  /// How many lie below `position`.
  PACTRAIN_FN std::size_t slot(std::size_t position) const {
    std::size_t low = 0, high = count;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (at(middle) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  PACTRAIN_FN bool operator()(std::size_t position) const {
    const std::size_t found = slot(position);
    return found < count && at(found) == position;
  }
  PACTRAIN_FN Word word(std::size_t index) const {
    const std::size_t begin = index * word_bits;
    Word word = 0;
    for (std::size_t i = slot(begin); i < count && at(i) - begin < word_bits; ++i) {
      word |= Word{1} << (at(i) - begin);
    }
    return word;
  }
};

/// 1 where an index is not above the one before it, or not below `n`.
struct OutOfOrder {
  Indices indices;
  std::size_t n;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    const std::size_t position = indices.at(i);
    return position >= n || (i > 0 && indices.at(i - 1) >= position) ? 1 : 0;
  }
};

/// Positions that one call counts or fills.
inline constexpr std::size_t index_chunk = 1024;

PACTRAIN_FN constexpr std::size_t chunks_for(std::size_t n) {
  return n / index_chunk + (n % index_chunk != 0 ? 1 : 0);
}

/// How many of the entries of chunk `i` are kept, of `n` in all.
template <class Keep>
struct CountChunk {
  Keep keep;
  std::size_t n;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const {
    const std::size_t end = n - i * index_chunk < index_chunk ? n : (i + 1) * index_chunk;
    std::size_t kept = 0;
    for (std::size_t p = i * index_chunk; p < end; ++p) kept += keep(p) ? 1 : 0;
    return kept;
  }
};

/// Writes their positions, `first` being that of entry 0, behind what the chunks before it keep.
template <class Keep>
struct FillChunk {
  Keep keep;
  std::size_t first, n;
  const std::size_t* before;
  Indices out;  ///< with as many indices as were there before
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t end = n - i * index_chunk < index_chunk ? n : (i + 1) * index_chunk;
    std::size_t slot = out.count + before[i];
    for (std::size_t p = i * index_chunk; p < end; ++p) {
      if (keep(p)) out.put(slot++, first + p);
    }
  }
};

/// Calls f(slot, position) for the indices in [first, last), by runs of `stride` positions.
template <class F>
struct VisitIndices {
  F f;
  Indices indices;
  std::size_t first, last, stride;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t begin = first + i * stride;
    const std::size_t end = last - begin < stride ? last : begin + stride;
    for (std::size_t slot = indices.slot(begin); slot < indices.count; ++slot) {
      const std::size_t position = indices.at(slot);
      if (position >= end) return;
      f(slot, position);
    }
  }
};

/// Calls f(position) for the positions of [first, last) that are no index, by chunks.
template <class F>
struct VisitGaps {
  F f;
  Indices indices;
  std::size_t first, last;
  PACTRAIN_FN void operator()(std::size_t i) const {
    std::size_t p = first + i * index_chunk;
    const std::size_t end = last - p < index_chunk ? last : p + index_chunk;
    for (std::size_t slot = indices.slot(p); p < end; ++slot, ++p) {
      const std::size_t next = slot < indices.count ? indices.at(slot) : end;
      for (; p < next && p < end; ++p) f(p);
    }
  }
};

/// The union of `ranks` lists of indices that lie behind each other; list r begins at starts[r].
struct IndexLists {
  Indices all;
  const std::size_t* starts;
  std::size_t ranks;

  static constexpr std::size_t chunk_words = index_chunk / word_bits;
  /// The positions of a chunk that are in any of the lists, as bits.
  PACTRAIN_FN void collect(std::size_t chunk, Word* bits) const {
    const std::size_t begin = chunk * index_chunk;
    for (std::size_t word = 0; word < chunk_words; ++word) bits[word] = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t start = starts[rank] * all.width;
      const Indices list{static_cast<unsigned char*>(all.data) + start,
                         starts[rank + 1] - starts[rank], all.width};
      for (std::size_t i = list.slot(begin); i < list.count; ++i) {
        const std::size_t at = list.at(i) - begin;
        if (at >= index_chunk) break;
        bits[at / word_bits] |= Word{1} << at % word_bits;
      }
    }
  }
};

/// The number of positions of a chunk that are in any of the lists.
struct CountUnion {
  IndexLists lists;
  PACTRAIN_FN std::size_t operator()(std::size_t chunk) const {
    Word bits[IndexLists::chunk_words];
    lists.collect(chunk, bits);
    std::size_t count = 0;
    for (const Word word : bits) count += popcount(word);
    return count;
  }
};

/// Writes them, ascending, behind those of the chunks before it.
struct FillUnion {
  IndexLists lists;
  const std::size_t* before;
  Indices out;
  PACTRAIN_FN void operator()(std::size_t chunk) const {
    Word bits[IndexLists::chunk_words];
    lists.collect(chunk, bits);
    std::size_t slot = before[chunk];
    for (std::size_t word = 0; word < IndexLists::chunk_words; ++word) {
      for (Word rest = bits[word]; rest != 0; rest &= rest - 1) {
        out.put(slot++, chunk * index_chunk + word * word_bits + lowest(rest));
      }
    }
  }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// `items` items in `count` segments that differ by one item at most, each a sketch of its own.
struct Segments {
  std::size_t items = 0, count = 0;

  PACTRAIN_FN std::size_t first(std::size_t segment) const {
    const std::size_t rest = items % count;
    return segment * (items / count) + (segment < rest ? segment : rest);
  }
  PACTRAIN_FN std::size_t of(std::size_t item) const {
    const std::size_t size = items / count, longer = items % count * (size + 1);
    return item < longer ? item / (size + 1) : items % count + (item - longer) / size;
  }
};

/// Rows of one of the three tables of a segment whose fullest lane has `items`.
PACTRAIN_FN constexpr std::size_t rows_for(std::size_t items, double load) {
  const double wanted = static_cast<double>(items) / (3 * load);
  const auto rows = static_cast<std::size_t>(wanted);
  return rows + (static_cast<double>(rows) < wanted ? 1 : 0);
}

/// rows[segment] becomes what its fullest lane needs, but no more than twice what would do if its
/// lanes were filled alike.
struct SizeSegment {
  Segments segments;
  const std::size_t* positions;  ///< of the items
  std::size_t lanes;
  double load;
  std::uint32_t* loads;  ///< zeros, `lanes` a segment
  std::size_t* rows;
  PACTRAIN_FN void operator()(std::size_t segment) const {
    const std::size_t first = segments.first(segment), last = segments.first(segment + 1);
    std::uint32_t* const in_lane = loads + segment * lanes;
    std::uint32_t fullest = 0;
    for (std::size_t item = first; item < last; ++item) {
      const std::uint32_t load_now = ++in_lane[positions[item] % lanes];
      fullest = fullest < load_now ? load_now : fullest;
    }
    const std::size_t wanted = rows_for(fullest, load);
    const std::size_t most = 2 * rows_for((last - first + lanes - 1) / lanes, load);
    rows[segment] = wanted < most ? wanted : most;
  }
};
/// The cells of a segment: three tables of rows of `lanes`.
struct CellsOf {
  const std::size_t* rows;
  std::size_t lanes;
  PACTRAIN_FN std::size_t operator()(std::size_t segment) const {
    return 3 * rows[segment] * lanes;
  }
};

/// A cell of an item, by its place in the segment, and the item's sign there.
struct Link {
  static constexpr std::uint32_t negative = 1u << 31;
  std::uint32_t bits;
  PACTRAIN_FN std::uint32_t cell() const { return bits & ~negative; }
  template <class V>
  PACTRAIN_FN V times(V value) const {
    return (bits & negative) != 0 ? static_cast<V>(V(0) - value) : value;
  }
};

/// links[3 * item + a]: one cell in each of three tables, so they are distinct. Entries of a block
/// of `lanes` positions share rows and signs, and each keeps its lane.
struct LinkItem {
  Segments segments;
  const std::size_t* positions;
  std::size_t lanes;
  const std::size_t* rows;
  std::uint64_t seed;
  Link* links;
  PACTRAIN_FN void operator()(std::size_t item) const {
    const std::size_t block = positions[item] / lanes, lane = positions[item] % lanes;
    const std::size_t n = rows[segments.of(item)];
    for (std::size_t table = 0; table < 3; ++table) {
      const std::uint64_t hash = mix(mix(block, table), seed);
      const std::size_t row = table * n + static_cast<std::size_t>((hash >> 32) * n >> 32);
      const auto cell = static_cast<std::uint32_t>(row * lanes + lane);
      links[3 * item + table] = {cell | ((hash & 1) != 0 ? Link::negative : 0u)};
    }
  }
};

/// An item, by its place in the segment, and the link whose cell holds nothing else when its turn
/// comes.
struct Turn {
  std::uint32_t bits;
  PACTRAIN_FN static Turn of(std::uint32_t item, std::uint32_t link) { return {item << 2 | link}; }
  PACTRAIN_FN std::uint32_t item() const { return bits >> 2; }
  PACTRAIN_FN std::uint32_t link() const { return bits & 3u; }
};

/// The order in which the items of a segment come out of their cells: an item's turn comes when one
/// of its cells holds no other item any more. It depends on the index alone. Rounds over the items
/// that wait go on until one brings nothing.
struct Peel {
  Segments segments;
  const Link* links;
  const std::size_t* cells_before;  ///< of a segment
  std::uint32_t* counts;            ///< zeros, one a cell
  Turn* turns;                      ///< one an item: those resolved are at the front of a segment
  std::uint32_t* waiting;           ///< one an item: those unresolved are at the front
  std::size_t* resolved;            ///< items of a segment
  std::size_t* rounds;              ///< of a segment
  PACTRAIN_FN void operator()(std::size_t segment) const {
    const std::size_t first = segments.first(segment);
    const auto size = static_cast<std::uint32_t>(segments.first(segment + 1) - first);
    std::uint32_t* const count = counts + cells_before[segment];
    std::uint32_t* const wait = waiting + first;
    const Link* const link = links + 3 * first;
    for (std::uint32_t i = 0; i < 3 * size; ++i) ++count[link[i].cell()];
    for (std::uint32_t item = 0; item < size; ++item) wait[item] = item;
    std::uint32_t known = 0, waits = size;
    std::size_t passes = 0;
    for (;; ++passes) {
      std::uint32_t kept = 0;
      for (std::uint32_t i = 0; i < waits; ++i) {
        const std::uint32_t item = wait[i], table = alone(link + 3 * item, count);
        if (table == 3) {
          wait[kept++] = item;
          continue;
        }
        turns[first + known++] = Turn::of(item, table);
        for (std::uint32_t a = 0; a < 3; ++a) --count[link[3 * item + a].cell()];
      }
      if (kept == waits) break;
      waits = kept;
    }
    resolved[segment] = known;
    rounds[segment] = passes;
  }

 private:
  /// The first of an item's cells that holds nothing else, or 3.
  PACTRAIN_FN static std::uint32_t alone(const Link* link, const std::uint32_t* count) {
    std::uint32_t table = 0;
    while (table < 3 && count[link[table].cell()] != 1) ++table;
    return table;
  }
};
/// How many items of a segment are not resolved.
struct Unresolved {
  Segments segments;
  const std::size_t* resolved;
  PACTRAIN_FN std::size_t operator()(std::size_t segment) const {
    return segments.first(segment + 1) - segments.first(segment) - resolved[segment];
  }
};

/// All that encoding and decoding need to know of a sketch: what `Peel` found, and where the values
/// of unresolved items begin, which travel as they are.
struct SketchPlan {
  Segments segments;
  const Link* links;
  const Turn* turns;
  const std::uint32_t* waiting;
  const std::size_t *cells_before, *resolved, *unresolved_before;
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>

#include <cstddef>

namespace pactrain::kernel {

/// Where a part begins: its first position in the model, and the number of tiles before it.
struct PartStart {
  std::size_t position = 0, tile = 0;
};

/// A model's parts cut into tiles of `width` consecutive entries, numbered over the whole model.
/// Tiles start at their part's start, so none crosses parts; the last one of a part may be short.
/// Pointers into the memory of whoever asks: `count` parts, none of them empty, and an end.
template <std::size_t width>
struct Tiles {
  const PartStart* parts = nullptr;
  std::size_t count = 0;

  PACTRAIN_FN std::size_t entries() const { return parts[count].position; }
  PACTRAIN_FN std::size_t size() const { return parts[count].tile; }
  /// The part that a position lies in.
  PACTRAIN_FN std::size_t part_of(std::size_t position) const {
    return last_not_above<&PartStart::position>(position);
  }
  /// The part that a tile lies in.
  PACTRAIN_FN std::size_t part_with(std::size_t tile) const {
    return last_not_above<&PartStart::tile>(tile);
  }
  /// The tile that a position of `part` lies in.
  PACTRAIN_FN std::size_t tile_of(std::size_t part, std::size_t position) const {
    return parts[part].tile + (position - parts[part].position) / width;
  }
  PACTRAIN_FN std::size_t tile_of(std::size_t position) const {
    return tile_of(part_of(position), position);
  }
  /// The positions of a tile of `part`: [begin, end).
  PACTRAIN_FN std::size_t begin(std::size_t part, std::size_t tile) const {
    return parts[part].position + (tile - parts[part].tile) * width;
  }
  PACTRAIN_FN std::size_t end(std::size_t part, std::size_t tile) const {
    const std::size_t room = parts[part + 1].position - begin(part, tile);
    return begin(part, tile) + (room < width ? room : width);
  }

 private:
  template <std::size_t PartStart::* key>
  PACTRAIN_FN std::size_t last_not_above(std::size_t value) const {
    std::size_t low = 0, high = count;
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      if (parts[middle].*key <= value) low = middle;
      else high = middle;
    }
    return low;
  }
};

}  // namespace pactrain::kernel

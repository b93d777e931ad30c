// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace demo {

/// One worker's part of the training pictures, every ranks-th of them, in an order that is drawn
/// anew each epoch and depends on nothing but seed, rank and epoch.
class Shard {
 public:
  Shard(std::size_t pictures, std::size_t rank, std::size_t ranks, std::uint64_t seed)
      : mine_(pictures / ranks), rank_(rank), ranks_(ranks), seed_(seed) {}

  /// Draws the order of an epoch.
  void shuffle(std::size_t epoch) {
    for (std::size_t i = 0; i < mine_.size(); ++i)
      mine_[i] = static_cast<std::uint32_t>(i * ranks_ + rank_);
    std::seed_seq seeds{seed_, std::uint64_t{rank_}, std::uint64_t{epoch}};
    std::mt19937_64 random(seeds);
    // Not std::shuffle: its draws differ between standard libraries.
    for (std::size_t left = mine_.size(); left > 1; --left)
      std::swap(mine_[left - 1], mine_[random() % left]);
  }

  /// The pictures of a step of this epoch.
  std::span<const std::uint32_t> batch(std::size_t step, std::size_t size) const {
    return std::span(mine_).subspan(step * size, size);
  }

 private:
  std::vector<std::uint32_t> mine_;
  std::size_t rank_, ranks_;
  std::uint64_t seed_;
};

}  // namespace demo

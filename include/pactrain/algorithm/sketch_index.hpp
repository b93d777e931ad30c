// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/bloom.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/mask/bit_mask.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// The shape of a filter for about `items` of `n` positions, in which about `phantoms` items more
/// are found for each that there is; of no blocks where a bit for each position takes no more.
inline kernel::BloomShape bloom_shape(std::size_t n, std::size_t items, double phantoms,
                                      std::uint64_t seed) {
  if (items == 0 || items >= n) return {};
  // By products alone, which all ranks round alike.
  const auto there = static_cast<double>(items), others = static_cast<double>(n - items);
  std::size_t hashes = 1;
  for (double found = others / 2; hashes < kernel::BloomShape::most_hashes; ++hashes, found /= 2) {
    if (found <= phantoms * there) break;
  }
  // The best size for so many hashes, and a tenth more since blocks are not filled alike.
  const double bits = 1.1 * 1.4426950408889634 * static_cast<double>(hashes) * there;
  if (bits >= static_cast<double>(n)) return {};
  return {static_cast<std::size_t>(bits / kernel::BloomShape::block_bits) + 1, hashes, seed};
}

/// Which of `n` values differ from zero on some rank: a bit for each, or a Bloom filter, merged by
/// OR.
template <Executor E>
class SketchIndex {
 public:
  /// This rank's own: those of `values` that differ from zero. Waits for the queue.
  template <class T>
  void mark(E& exec, std::span<const T> values) {
    n_ = values.size();
    own_.begin(exec, n_);
    own_.assign(exec, Piece<const T>{0, 0, 0, n_, values.data()},
                kernel::KeepAtLeast<T>{values.data(), 1});
    own_.end(exec);
    by_filter_ = false;
  }
  /// How many are in it.
  [[nodiscard]] std::size_t count() const noexcept { return mask().count(); }
  [[nodiscard]] const BitMask::on<E>& mask() const noexcept { return by_filter_ ? found_ : own_; }
  /// Bits that travel from each rank.
  [[nodiscard]] std::size_t bits() const noexcept {
    return by_filter_ ? shape_.words() * kernel::word_bits : n_;
  }

  /// What travels to all ranks, to be gathered: a filter of `shape`, or bits where it has no
  /// blocks.
  std::span<const std::byte> wire(E& exec, const kernel::BloomShape& shape) {
    shape_ = shape;
    by_filter_ = shape.blocks > 0;
    if (!by_filter_) return own_.positions();
    const auto words = words_.template take<kernel::Word>(exec, shape.words());
    fill(exec, words);
    return std::as_bytes(words);
  }
  /// It becomes all ranks', whose wires are `all`. Waits for the queue.
  void merge(E& exec, std::span<const std::byte> all, std::size_t ranks) {
    const std::size_t count = all.size() / sizeof(kernel::Word) / ranks;
    const auto words = words_.template take<kernel::Word>(exec, count);
    exec.for_each(
        count, kernel::Unite{words.data(), reinterpret_cast<const kernel::Word*>(all.data()), count,
                             ranks});
    if (!by_filter_) return own_.receive(exec, n_, std::as_bytes(words));
    found_.begin(exec, n_);
    found_.assign(exec, Piece<const float>{0, 0, 0, n_, nullptr},
                  kernel::BloomHas{shape_, words.data()});
    found_.end(exec);
  }
  /// The positions, ascending, in executor memory.
  [[nodiscard]] std::span<const std::size_t> positions(E& exec) { return list(exec, mask()); }

 private:
  std::span<std::size_t> list(E& exec, const BitMask::on<E>& mask) {
    const auto positions = positions_.template take<std::size_t>(exec, mask.count());
    mask.visit(exec, 0, n_, kernel::ListPosition{positions.data()});
    return positions;
  }
  void fill(E& exec, std::span<kernel::Word> words) {
    const auto positions = list(exec, own_);
    const std::size_t n = shape_.blocks * kernel::BloomCounters::shares;
    const auto counts = counts_.template take<std::size_t>(exec, n);
    const auto starts = starts_.template take<std::size_t>(exec, n + 1);
    const auto sorted = sorted_.template take<std::size_t>(exec, positions.size());
    const auto by = [&](std::span<std::size_t> counters) {
      return kernel::BloomCounters{shape_, positions.data(), positions.size(), counters.data()};
    };
    exec.for_each(n, kernel::Fill<std::size_t>{counts.data(), 0});
    exec.for_each(kernel::BloomCounters::shares, kernel::BloomCount{by(counts)});
    exec.scan(n, kernel::NumberAt{counts.data()}, starts.first(n),
              std::span<std::size_t, 1>(&starts[n], 1));
    exec.for_each(kernel::BloomCounters::shares, kernel::BloomSort{by(starts), sorted.data()});
    exec.for_each(shape_.blocks, kernel::BloomFill{by(starts), sorted.data(), words.data()});
  }

  std::size_t n_ = 0;
  kernel::BloomShape shape_;
  BitMask::on<E> own_, found_;
  bool by_filter_ = false;
  Scratch<E> words_, positions_, counts_, starts_, sorted_;
};

}  // namespace pactrain

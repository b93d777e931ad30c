// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/indices.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// SparCML's switch (Renggli et al., SC'19, arXiv 1802.08021): is what `items` items make, of a
/// range of `range` positions, kept dense? Where it is the sum of two streams, their items together
/// bound it. A sparse stream can thus never have as many items as its range has positions.
constexpr bool goes_dense(std::size_t items, std::size_t range, std::size_t index_bytes,
                          std::size_t value_bytes) {
  return items * (index_bytes + value_bytes) >= range * value_bytes;
}

/// A range of a vector as it travels: all of its values, or items of position and value by
/// ascending position. The body is the values, then the positions, each padded to 8 bytes;
/// positions count from the range's beginning, in as few bytes as the range needs.
template <GradientValue W>
struct SparseStream {
  std::size_t range = 0, items = 0;
  bool dense = false;
  std::byte* body = nullptr;  ///< in executor memory, aligned to 8 bytes

  /// As the switch says.
  [[nodiscard]] static SparseStream of(std::size_t range, std::size_t items) {
    return {range, items, goes_dense(items, range, kernel::index_width(range), sizeof(W)), nullptr};
  }
  [[nodiscard]] std::size_t bytes() const {
    return dense ? padded(range * sizeof(W))
                 : padded(items * sizeof(W)) + padded(items * kernel::index_width(range));
  }
  [[nodiscard]] std::span<W> values() const {
    return {reinterpret_cast<W*>(body), dense ? range : items};
  }
  [[nodiscard]] kernel::Indices positions() const {
    return {body + padded(items * sizeof(W)), items, kernel::index_width(range)};
  }

 private:
  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }
};

/// Do the positions of all streams ascend within their ranges? Waits once.
template <GradientValue W, Executor E>
[[nodiscard]] bool in_order(E& exec, std::span<const SparseStream<W>> streams,
                            Scratch<E>& scratch) {
  const auto wrong = scratch.template take<std::size_t>(exec, streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    exec.reduce(streams[i].dense ? 0 : streams[i].items, std::size_t{0},
                kernel::OutOfOrder{streams[i].positions(), streams[i].range}, kernel::Add{},
                std::span<std::size_t, 1>(wrong.data() + i, 1));
  }
  std::vector<std::size_t> found(streams.size());
  exec.read(as_const_span(wrong), std::span(found));
  for (const std::size_t count : found) {
    if (count != 0) return false;
  }
  return true;
}

}  // namespace pactrain

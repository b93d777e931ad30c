// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/sparse_stream.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>
#include <span>

namespace pactrain {

/// The sums of an owner on their way to all: a stream, or, where `bitmaps` may be and are shorter,
/// values, and where they stand as one bit for each position that it owns (Zen's hash bitmap).
template <GradientValue T>
struct OwnedSums {
  SparseStream<T> stream;  ///< its positions are not used where there are bits
  bool bits = false;

  [[nodiscard]] static OwnedSums of(std::size_t range, std::size_t items, bool dense,
                                    bool bitmaps) {
    OwnedSums sums{{range, items, dense, nullptr}, false};
    sums.bits =
        bitmaps && !dense && sums.values_bytes() + bitmap_bytes(range) < sums.stream.bytes();
    return sums;
  }
  [[nodiscard]] std::size_t bytes() const {
    return bits ? values_bytes() + bitmap_bytes(stream.range) : stream.bytes();
  }
  [[nodiscard]] std::span<std::byte> bitmap() const {
    return {stream.body + values_bytes(), bitmap_bytes(stream.range)};
  }

 private:
  [[nodiscard]] std::size_t values_bytes() const { return (stream.items * sizeof(T) + 7) / 8 * 8; }
  [[nodiscard]] static std::size_t bitmap_bytes(std::size_t range) {
    return kernel::words_for(range) * sizeof(kernel::Word);
  }
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>

#include <cstddef>

namespace pactrain::gpu {

/// The entries [0, n) in pieces of `length`, one a team.
struct Pieces {
  std::size_t n, length;
  PACTRAIN_FN std::size_t begin(std::size_t piece) const { return piece * length; }
  PACTRAIN_FN std::size_t size(std::size_t piece) const {
    return n - begin(piece) < length ? n - begin(piece) : length;
  }
  [[nodiscard]] std::size_t count() const { return n / length + (n % length != 0 ? 1 : 0); }

  /// Pieces of at least `least` entries, a multiple of it, and no more than `most` of them.
  [[nodiscard]] static Pieces cut(std::size_t n, std::size_t least, std::size_t most) {
    return {n, (n / (least * most) + 1) * least};
  }
};

/// partial[piece] = load(i) combined over a piece's entries, and `init` where it is the last
/// reduction. The order is the same on every system.
template <class T, class Load, class Combine>
struct ReducePiece {
  static constexpr unsigned lanes = 256;
  struct Shared {
    alignas(T) std::byte values[lanes * sizeof(T)];
  };
  Load load;
  Combine combine;
  Pieces pieces;
  T* partial;
  T init;
  bool last;

  template <class Team>
  PACTRAIN_FN void operator()(Team team, std::size_t piece, Shared& shared) const {
    const std::size_t begin = pieces.begin(piece), size = pieces.size(piece);
    T* const values = reinterpret_cast<T*>(shared.values);
    team.each([&](unsigned lane) {
      if (lane >= size) return;
      T value = load(begin + lane);
      for (std::size_t i = lane + lanes; i < size; i += lanes) {
        value = combine(value, load(begin + i));
      }
      values[lane] = value;
    });
    for (unsigned width = lanes / 2; width > 0; width /= 2) {
      team.each([&](unsigned lane) {
        if (lane < width && lane + width < size) {
          values[lane] = combine(values[lane], values[lane + width]);
        }
      });
    }
    team.each([&](unsigned lane) {
      if (lane == 0) partial[piece] = last ? combine(init, values[0]) : values[0];
    });
  }
};

/// What lies at `x[i]`, for a reduction of what pieces gave.
template <class T>
struct LoadAt {
  const T* x;
  PACTRAIN_FN T operator()(std::size_t i) const { return x[i]; }
};

/// *total = before[last] + load(last): what a scan has to say in the end.
template <class Load>
struct AddLast {
  Load load;
  const std::size_t* before;
  std::size_t last;
  std::size_t* total;
  PACTRAIN_FN void operator()(std::size_t) const { *total = before[last] + load(last); }
};

}  // namespace pactrain::gpu

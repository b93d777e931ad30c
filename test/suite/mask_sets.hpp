// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/world.hpp>

#include <pactrain/core/model.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/mask/block_mask.hpp>
#include <pactrain/mask/full_mask.hpp>
#include <pactrain/mask/n_of_m_mask.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Sets of positions, by which masks are judged, and what each representation makes of them.
namespace pactrain::test::mask {

using Set = std::vector<bool>;

inline Model model_with(std::span<const std::size_t> sizes) {
  Model model;
  for (const std::size_t size : sizes) model.add({}, size);
  return model;
}

/// Sizes around the edges of words and groups, and parts that start inside words.
inline const std::vector<std::vector<std::size_t>>& layouts() {
  static const std::vector<std::vector<std::size_t>> all{{},
                                                         {0},
                                                         {1},
                                                         {63},
                                                         {64},
                                                         {65},
                                                         {511},
                                                         {512},
                                                         {513},
                                                         {1000},
                                                         {10, 0, 53, 1, 70, 513, 7},
                                                         {0, 3, 100, 0, 29, 64, 1025, 1, 0}};
  return all;
}

enum class Density { none, one, percent, half, all };
inline constexpr Density densities[] = {Density::none, Density::one, Density::percent,
                                        Density::half, Density::all};

inline Set random_set(std::size_t n, Density density, std::uint64_t seed) {
  Set set(n, density == Density::all);
  if (density == Density::one && n > 0) set[kernel::mix(seed, n) % n] = true;
  const std::uint64_t of_100 = density == Density::percent ? 1 : density == Density::half ? 50 : 0;
  for (std::size_t p = 0; of_100 > 0 && p < n; ++p) set[p] = kernel::mix(seed, p) % 100 < of_100;
  return set;
}

inline Set united(Set a, const Set& b) {
  for (std::size_t p = 0; p < a.size(); ++p) a[p] = a[p] || b[p];
  return a;
}

/// Calls f(first, last) for each run of `width` positions of a part.
template <class F>
void for_tiles(const Model& model, std::size_t width, F f) {
  for (const Part& part : model.parts()) {
    for (std::size_t at = 0; at < part.size; at += width) {
      f(part.first + at, part.first + std::min(part.size, at + width));
    }
  }
}

/// What is asked of a representation where a set is wanted, what it then holds, whether it can hold
/// it, and whether unions of different sets can be asked of it.
template <class Mask>
struct Holds {
  static constexpr bool any_union = true;
  static Set asked(const Model&, const Set& set) { return set; }
  static Set held(const Model&, const Set& set) { return set; }
  static bool legal(const Model&, const Set&) { return true; }
};
template <std::size_t B>
struct Holds<BlockMask<B>> : Holds<void> {
  static Set held(const Model& model, Set set) {
    for_tiles(model, B, [&](std::size_t first, std::size_t last) {
      bool any = false;
      for (std::size_t p = first; p < last; ++p) any = any || set[p];
      for (std::size_t p = first; p < last; ++p) set[p] = any;
    });
    return set;
  }
};
template <std::size_t N, std::size_t M>
struct Holds<NofMMask<N, M>> : Holds<void> {
  static constexpr bool any_union = false;
  /// Of each group the first N of `set`, and where they are too few, the first others.
  static Set asked(const Model& model, Set set) {
    for_tiles(model, M, [&](std::size_t first, std::size_t last) {
      std::size_t left = std::min(N, last - first);
      const std::size_t enough = left;
      for (std::size_t p = first; p < last; ++p) {
        if (set[p] && left > 0) --left;
        else set[p] = false;
      }
      for (std::size_t p = first; p < last; ++p) {
        if (!set[p] && left > 0 && left <= enough) {
          set[p] = true;
          --left;
        }
      }
    });
    return set;
  }
  static bool legal(const Model& model, const Set& set) {
    bool legal = true;
    for_tiles(model, M, [&](std::size_t first, std::size_t last) {
      std::size_t kept = 0;
      for (std::size_t p = first; p < last; ++p) kept += set[p];
      legal = legal && kept == std::min(N, last - first);
    });
    return legal;
  }
};
template <>
struct Holds<FullMask> : Holds<void> {
  static constexpr bool any_union = false;
  static Set asked(const Model& model, const Set&) { return Set(model.size(), true); }
  static bool legal(const Model&, const Set& set) {
    return std::find(set.begin(), set.end(), false) == set.end();
  }
};

/// The fingerprint by its definition.
inline std::uint64_t fingerprint(const Set& set, std::size_t first, std::size_t last) {
  std::uint64_t sum = 0;
  for (std::size_t word = 0; word * kernel::word_bits < last; ++word) {
    kernel::Word bits = 0;
    for (std::size_t i = 0; i < kernel::word_bits; ++i) {
      const std::size_t p = word * kernel::word_bits + i;
      if (p >= first && p < last && set[p]) bits |= kernel::Word{1} << i;
    }
    if (bits != 0) sum += kernel::mix(bits, word);
  }
  return sum;
}

/// A set in an executor's memory, as a predicate on the entries from `first` on.
struct KeepFlags {
  const std::uint8_t* flags;
  std::size_t first;
  PACTRAIN_FN bool operator()(std::size_t i) const { return flags[first + i] != 0; }
};
template <Executor E>
Array<std::uint8_t, E> flags(E& exec, const Set& set) {
  return Array<std::uint8_t, E>(
      exec, std::span<const std::uint8_t>(std::vector<std::uint8_t>(set.begin(), set.end())));
}

/// The whole model in pieces: one a part for `seed` 0, otherwise cut anywhere.
inline std::vector<Piece<const float>> pieces(const Model& model, std::uint64_t seed) {
  std::vector<Piece<const float>> all;
  const std::size_t n = model.size();
  for (std::size_t first = 0, i = 0; first < n; ++i) {
    const std::size_t size = seed == 0 ? n : 1 + kernel::mix(seed, i) % (n / 4 + 7);
    cut<const float>(model, first, std::min(size, n - first), nullptr, all);
    first += std::min(size, n - first);
  }
  return all;
}

/// Begins a mask and assigns a set to it, piece by piece; `end` is left to the caller.
template <Executor E, class MaskOn>
void assign(E& exec, MaskOn& mask, const Model& model, const Set& set, std::uint64_t seed = 0) {
  const auto keep = flags(exec, set);
  mask.begin(exec, model);
  for (const auto& piece : pieces(model, seed)) {
    mask.assign(exec, piece, KeepFlags{keep.view().data(), piece.first});
  }
  exec.fence();
}

}  // namespace pactrain::test::mask

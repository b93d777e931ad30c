// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace pactrain::test {

/// A plain four-byte value that is no number.
struct Label {
  std::uint16_t row = 0, column = 0;
};

/// The levels this processor has.
inline std::vector<simd::Level> levels() {
  std::vector<simd::Level> all;
  for (const auto level : simd::all_levels) {
    if (level <= simd::best_level()) all.push_back(level);
  }
  return all;
}

inline constexpr std::size_t sizes[] = {0, 1, 63, 64, 65, 127, 128, 1000, 100003};
inline constexpr std::size_t firsts[] = {0, 1, 7, 63};

/// Which share of entries a mask keeps.
enum class Density { none, one_entry, percent, half, most, all };
inline constexpr Density densities[] = {Density::none, Density::one_entry, Density::percent,
                                        Density::half, Density::most,      Density::all};

/// A mask of exactly the words it needs, so that a sanitizer sees reads behind it. Bits outside
/// the entries are ones: a kernel that trusts them keeps entries that do not exist.
inline std::vector<std::uint64_t> make_mask(std::size_t first, std::size_t n, Density density,
                                            std::mt19937_64& random) {
  std::vector<std::uint64_t> words((first + n + 63) / 64, ~std::uint64_t{0});
  const std::size_t chosen = n == 0 ? 0 : random() % n;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t draw = random() % 100;
    const bool keep = density == Density::all || (density == Density::most && draw < 90) ||
                      (density == Density::half && draw < 50) ||
                      (density == Density::percent && draw < 1) ||
                      (density == Density::one_entry && i == chosen);
    const std::size_t bit = first + i;
    if (!keep) words[bit / 64] &= ~(std::uint64_t{1} << bit % 64);
  }
  return words;
}

inline bool kept(const std::vector<std::uint64_t>& words, std::size_t bit) {
  return (words[bit / 64] >> bit % 64 & 1u) != 0;
}

/// Entries between two guards, at an address that is odd in units of `T`.
/// The guards are part of the allocation: a stray write is seen without a sanitizer, too.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::size_t n, std::size_t offset = 0) : lead_(guard + offset), n_(n) {
    all_.resize(lead_ + n + guard);
    for (T& x : all_) x = pattern();
  }

  T* data() { return all_.data() + lead_; }
  const T* data() const { return all_.data() + lead_; }
  std::size_t size() const { return n_; }
  T& operator[](std::size_t i) { return all_[lead_ + i]; }

  /// Do the guards still hold, and everything from entry `used` on?
  bool intact(std::size_t used) const {
    const T expected = pattern();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const bool writable = i >= lead_ && i < lead_ + used;
      if (!writable && std::memcmp(&all_[i], &expected, sizeof(T)) != 0) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t guard = 64;
  static T pattern() {
    std::uint64_t bits = 0xabadcafedeadbeef;
    T x;
    std::memcpy(static_cast<void*>(&x), &bits, sizeof(T));
    return x;
  }

  std::size_t lead_, n_;
  std::vector<T> all_;
};

// Values that may be NaNs are written in place, never passed: under -ffast-math clang takes for
// granted that no float passed or returned is one, and these tests also run so.

/// Gives `x` certain bits.
template <class T>
void set_bits(T& x, std::uint64_t bits) {
  std::memcpy(static_cast<void*>(&x), &bits, sizeof(T));
}

/// Gives `x` any bits at all: NaNs, infinities, denormals and both zeros are among them.
template <class T>
void set_any(T& x, std::mt19937_64& random) {
  std::uint64_t bits = random();
  if (random() % 8 == 0) bits &= 0x8000000080008000u;
  set_bits(x, bits);
}

/// Gives `x` a finite value; one in eight is a zero of either sign, one in eight a denormal.
template <GradientValue T>
void set_finite(T& x, std::mt19937_64& random) {
  auto bits = static_cast<bits_t<T>>(random());
  const auto kind = random() % 8;
  if (kind == 0) bits = static_cast<bits_t<T>>(bits & ~simd::magnitude_mask<T>);
  if (kind == 1) bits = static_cast<bits_t<T>>(bits & ~exponent_mask<T>);
  if ((bits & exponent_mask<T>) == exponent_mask<T>) bits = exponent_mask<T> - 1u;
  set_bits(x, bits);
}

/// The bits of a positive infinity, of the largest NaN and of the smallest.
template <GradientValue T>
inline constexpr bits_t<T> non_finite_bits[] = {exponent_mask<T>,
                                                static_cast<bits_t<T>>(~bits_t<T>{0}),
                                                static_cast<bits_t<T>>(exponent_mask<T> | 1u)};

/// Are two values the same bits?
template <class T>
bool same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// Calls `body(level, first, n, density, offset, random)` for every case a kernel has to pass.
template <class Body>
void for_each_case(Body body) {
  std::mt19937_64 random(20250518);
  for (const auto level : levels()) {
    for (const std::size_t n : sizes) {
      for (const std::size_t first : firsts) {
        for (const Density density : densities) {
          const std::size_t offset = random() % 16;
          body(level, first, n, density, offset, random);
        }
      }
    }
  }
}

}  // namespace pactrain::test

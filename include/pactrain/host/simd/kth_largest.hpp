// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd/portable.hpp>
#include <pactrain/host/simd/workspace.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace pactrain::simd {

/// The k-th largest magnitude of a vector, as `magnitude()` gives it, and how many entries lie
/// strictly above it; at least `k - above` entries lie at it.
template <class T>
struct Bar {
  bits_t<T> bar;
  std::size_t above;

  friend bool operator==(const Bar&, const Bar&) = default;
};

/// Finds the k-th largest magnitude of a vector given in parts.
/// A sample gives two bars that most likely enclose it; one pass counts what lies above and keeps
/// the few magnitudes in between (Floyd and Rivest, Algorithm 489). When the sample misled, digits
/// are counted instead. The answer is exact either way, and independent of how parts are cut.
template <class K, GradientValue T>
class Selection {
 public:
  using Parts = std::span<const std::span<const T>>;

  Selection(Parts parts, Workspace& workspace) : parts_(parts), workspace_(workspace) {
    for (const auto& part : parts) size_ += part.size();
  }

  Bar<T> kth(std::size_t k) {
    if (size_ <= small) return among_all(k);
    samples_ = std::clamp<std::size_t>(size_ / 64, 512, 16384);
    if (const auto bar = within_band(k)) return *bar;
    return by_digits(k);
  }

 private:
  using Bits = bits_t<T>;

  static constexpr std::size_t small = 4096;
  static constexpr std::size_t chunk = 4096;

  Bar<T> among_all(std::size_t k) {
    Bits* sizes = workspace_.take<Bits>(small);
    Bits* last = sizes;
    for (const auto& part : parts_) {
      last = std::transform(part.begin(), part.end(), last,
                            [](const T& x) { return magnitude_at(x); });
    }
    return nth(sizes, static_cast<std::size_t>(last - sizes), k - 1, 0);
  }

  /// The magnitude with `rank` others before it in descending order.
  static Bar<T> nth(Bits* sizes, std::size_t n, std::size_t rank, std::size_t above) {
    std::nth_element(sizes, sizes + rank, sizes + n, std::greater<>());
    const Bits bar = sizes[rank];
    const auto larger = std::count_if(sizes, sizes + rank, [bar](Bits x) { return x > bar; });
    return {bar, above + static_cast<std::size_t>(larger)};
  }

  std::optional<Bar<T>> within_band(std::size_t k) {
    const std::size_t widest = 2 * margin(samples_ / 2);
    const std::size_t room = size_ / samples_ * widest * 3 / 2 + chunk;
    Bits* found = workspace_.take<Bits>(std::max(room, samples_));
    const auto [low, high] = enclose(k, found);

    BandCount count;
    for (const auto& part : parts_) {
      for (std::size_t i = 0; i < part.size(); i += chunk) {
        if (count.between + chunk > room) return std::nullopt;
        const std::size_t n = std::min(chunk, part.size() - i);
        count += K::template band<T>(part.data() + i, n, low, high, found + count.between);
      }
    }
    std::size_t above = count.above_high;
    if (k <= above) return std::nullopt;
    if (k <= above + count.at_high) return Bar<T>{high, above};
    above += count.at_high;
    if (k <= above + count.between) return nth(found, count.between, k - above - 1, above);
    above += count.between;
    if (k <= above + count.at_low) return Bar<T>{low, above};
    return std::nullopt;
  }

  /// How far the rank of the k-th largest may lie from `rank` in the sample: four standard
  /// deviations, and some for the ends, where ranks are not normally distributed.
  std::size_t margin(std::size_t rank) const {
    const auto r = static_cast<double>(rank);
    const double variance = r * (1 - r / static_cast<double>(samples_));
    return static_cast<std::size_t>(4 * std::sqrt(variance)) + 8;
  }

  struct Band {
    Bits low, high;
  };

  Band enclose(std::size_t k, Bits* sample) {
    draw(sample);
    const auto share = static_cast<double>(k - 1) / static_cast<double>(size_);
    const auto rank = static_cast<std::size_t>(share * static_cast<double>(samples_));
    const std::size_t off = margin(rank);
    Band band{0, magnitude_mask<T>};
    Bits* from = sample;
    if (rank > off) {
      Bits* high = sample + (rank - off);
      std::nth_element(from, high, sample + samples_, std::greater<>());
      band.high = *high;
      from = high;
    }
    if (rank + off < samples_) {
      Bits* low = sample + (rank + off);
      std::nth_element(from, low, sample + samples_, std::greater<>());
      band.low = *low;
    }
    return band;
  }

  /// One entry from each of `samples_` equal stretches, at a place that looks random but is not, so
  /// that rows of a matrix do not resonate with the stretches.
  void draw(Bits* sample) const {
    const std::size_t stretch = size_ / samples_;
    auto part = parts_.begin();
    std::size_t begin = 0;
    for (std::size_t s = 0; s < samples_; ++s) {
      const std::uint64_t mixed = (s + 1) * 0x9e3779b97f4a7c15u;
      const std::size_t index = s * stretch + static_cast<std::size_t>((mixed >> 32) % stretch);
      while (index - begin >= part->size()) begin += (part++)->size();
      sample[s] = magnitude_at((*part)[index - begin]);
    }
  }

  Bar<T> by_digits(std::size_t k) const {
    constexpr int digit = 11;
    constexpr int bits = 8 * static_cast<int>(sizeof(T)) - 1;
    Bits bar = 0;
    std::size_t above = 0;
    for (int top = bits; top > 0; top -= digit) {
      const int shift = std::max(0, top - digit);
      std::array<std::size_t, std::size_t{1} << digit> count{};
      for (const auto& part : parts_) {
        for (const T& x : part) {
          const std::uint64_t size = magnitude_at(x);
          if (size >> top == std::uint64_t{bar} >> top) {
            ++count[size >> shift & ((std::uint64_t{1} << (top - shift)) - 1)];
          }
        }
      }
      std::size_t value = count.size() - 1;
      for (; above + count[value] < k; --value) above += count[value];
      bar = static_cast<Bits>(bar | static_cast<Bits>(static_cast<std::uint64_t>(value) << shift));
    }
    return {bar, above};
  }

  Parts parts_;
  Workspace& workspace_;
  std::size_t size_ = 0;
  std::size_t samples_ = 0;
};

}  // namespace pactrain::simd

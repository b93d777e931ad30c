// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

namespace pactrain {

namespace kernel {

PACTRAIN_FN constexpr std::size_t pieces_of(std::size_t n, std::size_t length) {
  return n / length + (n % length != 0 ? 1 : 0);
}

/// The largest magnitude among `n` values as an integer that orders as magnitudes do. Where
/// `only_finite`, infinities and NaNs count as zero; otherwise they come out at or above
/// `exponent_mask`.
template <bool only_finite, GradientValue S>
PACTRAIN_FN constexpr bits_t<S> largest_magnitude(const S* x, std::size_t n) {
  using Signed = std::make_signed_t<bits_t<S>>;  // which baseline vectors can compare
  Signed largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Signed size = static_cast<Signed>(magnitude(x[i]));
    if constexpr (only_finite)
      size = size < static_cast<Signed>(exponent_mask<S>) ? size : Signed{0};
    largest = largest < size ? size : largest;
  }
  return static_cast<bits_t<S>>(largest);
}

/// The packed values of one parameter, with the numbers of its first unit and its first scale.
struct UnitRun {
  std::size_t part = 0, first = 0, size = 0, unit = 0, scale = 0;
};

/// Values of one parameter under one scale: `size` of them from `first` on in the packed vector,
/// the first being entry `at` of the parameter's packed values.
struct Unit {
  std::size_t part, at, first, size, scale;
};

/// How the packed values of a call are cut: parameters into blocks of one scale each, blocks into
/// units, each of which is the work of one kernel call. The cuts depend on sizes alone, so sums by
/// unit are the same for every executor, and a call with many small parameters is one launch.
struct Units {
  const UnitRun* runs = nullptr;  ///< in executor memory; null for one run, which is `only`
  UnitRun only{};
  std::size_t run_count = 0, count = 0, scale_count = 0;
  std::size_t block = 0;   ///< values under one scale
  std::size_t length = 0;  ///< values of a unit, at most

  PACTRAIN_FN Unit operator()(std::size_t number) const {
    const UnitRun run = find<&UnitRun::unit>(number);
    const std::size_t per_block = units_per_block(run);
    const std::size_t in_run = number - run.unit;
    const std::size_t of_block = in_run / per_block;
    const std::size_t at = of_block * block + in_run % per_block * length;
    const std::size_t left = block_end(run, of_block) - at;
    return {run.part, at, run.first + at, left < length ? left : length, run.scale + of_block};
  }
  /// The units under scale `scale`: numbers [first, last).
  struct Range {
    std::size_t first, last, values;
  };
  PACTRAIN_FN Range under(std::size_t scale) const {
    const UnitRun run = find<&UnitRun::scale>(scale);
    const std::size_t of_block = scale - run.scale;
    const std::size_t first = run.unit + of_block * units_per_block(run);
    const std::size_t values = block_end(run, of_block) - of_block * block;
    return {first, first + pieces_of(values, length), values};
  }

 private:
  template <std::size_t UnitRun::* begin>
  PACTRAIN_FN UnitRun find(std::size_t number) const {
    if (runs == nullptr) return only;
    std::size_t low = 0, high = run_count;  // runs[low] begins at or below number
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      if (runs[middle].*begin <= number) low = middle;
      else high = middle;
    }
    return runs[low];
  }
  PACTRAIN_FN std::size_t units_per_block(const UnitRun& run) const {
    return pieces_of(run.size < block ? run.size : block, length);
  }
  PACTRAIN_FN std::size_t block_end(const UnitRun& run, std::size_t of_block) const {
    return run.size - of_block * block < block ? run.size : (of_block + 1) * block;
  }
};

}  // namespace kernel

/// Cuts calls into units and keeps the table in executor memory until a call of other sizes comes.
template <Executor E>
class UnitTable {
 public:
  /// At most `length` values a unit, `block` values a scale (0: one scale per parameter).
  UnitTable(std::size_t block, std::size_t length)
      : block_(block != 0 ? block : std::numeric_limits<std::size_t>::max()), length_(length) {}

  [[nodiscard]] std::size_t scale_count(std::span<const PackedPart> parts) const {
    std::size_t scales = 0;
    for (const PackedPart& part : parts) scales += kernel::pieces_of(part.size, block_);
    return scales;
  }
  [[nodiscard]] const kernel::Units& cut(E& exec, std::span<const PackedPart> parts) {
    if (!std::ranges::equal(parts, parts_)) rebuild(exec, parts);
    return units_;
  }

 private:
  void rebuild(E& exec, std::span<const PackedPart> parts) {
    parts_.clear();  // so that a failure below leaves no stale match
    runs_.clear();
    units_ = {.block = block_, .length = length_};
    for (const PackedPart& part : parts) {
      if (part.size == 0) continue;
      runs_.push_back({part.part, part.first, part.size, units_.count, units_.scale_count});
      const std::size_t blocks = part.size / block_, rest = part.size % block_;
      units_.count += (blocks > 0 ? blocks * kernel::pieces_of(block_, length_) : 0) +
                      kernel::pieces_of(rest, length_);
      units_.scale_count += kernel::pieces_of(part.size, block_);
    }
    units_.run_count = runs_.size();
    if (runs_.size() == 1) units_.only = runs_[0];
    if (runs_.size() > 1) {
      const auto table = scratch_.template take<kernel::UnitRun>(exec, runs_.size());
      exec.write(std::span<const kernel::UnitRun>(runs_), table);
      units_.runs = table.data();
    }
    parts_.assign(parts.begin(), parts.end());
  }

  std::size_t block_, length_;
  std::vector<PackedPart> parts_;
  std::vector<kernel::UnitRun> runs_;
  kernel::Units units_;
  Scratch<E> scratch_;
};

}  // namespace pactrain

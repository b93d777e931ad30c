// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>

#include <cstddef>
#include <type_traits>

namespace pactrain::kernel {

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

/// The packed values of one parameter, with the numbers of its first unit and its first scale, and
/// the byte where its codes begin.
struct UnitRun {
  std::size_t part = 0, first = 0, size = 0, unit = 0, scale = 0, code = 0;
};

/// Values of one parameter under one scale: `size` of them from `first` on in the packed vector,
/// the first being entry `at` of the parameter's packed values. Their codes begin at byte `code`.
struct Unit {
  std::size_t part, at, first, size, scale, code;
};

/// The bytes of `n` codes of `bits` bits each.
PACTRAIN_FN constexpr std::size_t code_bytes(std::size_t n, std::size_t bits) {
  return n / 8 * bits + (n % 8 * bits + 7) / 8;
}

/// How the packed values of a call are cut: parameters into blocks of one scale each, blocks into
/// units, each of which is the work of one kernel call. The cuts depend on sizes alone, so sums by
/// unit are the same for every executor, and a call with many small parameters is one launch.
struct Units {
  const UnitRun* runs = nullptr;  ///< in executor memory; null for one run, which is `only`
  UnitRun only{};
  std::size_t run_count = 0, count = 0, scale_count = 0;
  std::size_t block = 0;   ///< values under one scale
  std::size_t length = 0;  ///< values of a unit, at most; a multiple of 8 if below `block`
  std::size_t bits = 8;    ///< of a code; the codes of a block begin at a byte

  PACTRAIN_FN Unit operator()(std::size_t number) const {
    const UnitRun run = find<&UnitRun::unit>(number);
    const std::size_t per_block = units_per_block(run);
    const std::size_t in_run = number - run.unit;
    const std::size_t of_block = in_run / per_block;
    const std::size_t in_block = in_run % per_block * length, at = of_block * block + in_block;
    const std::size_t left = block_end(run, of_block) - at;
    // Of one block, which may be as long as numbers go, the second product is not asked for.
    const std::size_t before = of_block > 0 ? of_block * code_bytes(block, bits) : 0;
    return {run.part,
            at,
            run.first + at,
            left < length ? left : length,
            run.scale + of_block,
            run.code + before + code_bytes(in_block, bits)};
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

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/sketch.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// Values as cells hold them: unsigned integers, whole numbers of `unit` in two's complement, whose
/// sums are exact whatever wraps in between; or floating point, as they are.
template <class Cell>
struct SketchValue {
  double unit = 1, per_unit = 1;  ///< powers of two, of which one is the other's inverse

  template <class T>
  PACTRAIN_FN Cell encode(const T& x) const {
    if constexpr (std::integral<Cell>) {
      // By whole numbers, since compilers that may reorder sums would take x + shift - shift for x.
      const double units = static_cast<double>(static_cast<arithmetic_t<T>>(x)) * per_unit;
      const auto whole = static_cast<std::int64_t>(units);
      const double rest = units - static_cast<double>(whole);
      const bool odd = whole % 2 != 0;
      const int up = rest > 0.5 || (rest == 0.5 && odd) ? 1 : 0;
      const int down = rest < -0.5 || (rest == -0.5 && odd) ? 1 : 0;
      return static_cast<Cell>(whole + up - down);
    } else {
      return static_cast<Cell>(static_cast<arithmetic_t<T>>(x));
    }
  }
  /// The sum that a cell means, divided.
  template <class T>
  PACTRAIN_FN T decode(Cell cell, double divisor) const {
    if constexpr (std::integral<Cell>) {
      return cast<T>(static_cast<double>(as_signed(cell)) * unit / divisor);
    } else {
      return cast<T>(static_cast<Cell>(cell / static_cast<Cell>(divisor)));
    }
  }
  /// Is `x` what a cell would hold for it?
  template <class T>
  PACTRAIN_FN bool exact(const T& x) const {
    if constexpr (std::integral<Cell>) {
      return static_cast<double>(as_signed(encode(x))) * unit ==
             static_cast<double>(static_cast<arithmetic_t<T>>(x));
    } else {
      return true;
    }
  }
  /// A cell's meaning, ordered.
  PACTRAIN_FN static auto as_signed(Cell cell) {
    if constexpr (std::same_as<Cell, std::uint32_t>) return static_cast<std::int32_t>(cell);
    else if constexpr (std::same_as<Cell, std::uint64_t>) return static_cast<std::int64_t>(cell);
    else return cell;
  }
};

/// The unit under which the sum of `ranks` values of magnitudes up to `largest` fits a cell, with
/// the digits that are left. On the host.
template <std::integral Cell>
SketchValue<Cell> fixed_point(double largest, std::size_t ranks) {
  int exponent = 0, digits = static_cast<int>(8 * sizeof(Cell)) - 2;
  std::frexp(largest, &exponent);  // largest < 2^exponent
  for (std::size_t more = 1; more < ranks; more *= 2) --digits;
  const int unit = std::clamp(exponent - digits, -1000, 1000);  // of which the inverse is a double
  return {std::ldexp(1.0, unit), std::ldexp(1.0, -unit)};
}

/// Adds a segment's items, with their signs, to their cells, which are zeros. Unresolved items go
/// to `exact` in place of the cells; where that is null they go to the cells like all others.
template <class T, class Cell>
struct EncodeSketch {
  SketchPlan plan;
  SketchValue<Cell> as;
  const T* packed;
  Cell *cells, *exact;
  PACTRAIN_FN void operator()(std::size_t segment) const {
    const std::size_t first = plan.segments.first(segment);
    const std::size_t size = plan.segments.first(segment + 1) - first;
    const std::size_t known = plan.resolved[segment];
    for (std::size_t i = 0; i < known; ++i) add(segment, first + plan.turns[first + i].item());
    for (std::size_t i = 0; i < size - known; ++i) {
      const std::size_t item = first + plan.waiting[first + i];
      if (exact == nullptr) add(segment, item);
      else exact[plan.unresolved_before[segment] + i] = as.encode(packed[item]);
    }
  }

 private:
  PACTRAIN_FN void add(std::size_t segment, std::size_t item) const {
    const Cell value = as.encode(packed[item]);
    Cell* const in = cells + plan.cells_before[segment];
    for (std::size_t a = 0; a < 3; ++a) {
      const Link link = plan.links[3 * item + a];
      in[link.cell()] = static_cast<Cell>(in[link.cell()] + link.times(value));
    }
  }
};

/// Takes a segment's items out of its cells, in the order of their turns. What is left is zeros if
/// sums are exact and all is resolved. Unresolved items come from `exact`; where that is null they
/// are estimated: the median of what their cells say.
template <class T, class Cell>
struct DecodeSketch {
  SketchPlan plan;
  SketchValue<Cell> as;
  double divisor;
  Cell *cells, *exact;
  T* packed;
  PACTRAIN_FN void operator()(std::size_t segment) const {
    const std::size_t first = plan.segments.first(segment);
    const std::size_t size = plan.segments.first(segment + 1) - first;
    const std::size_t known = plan.resolved[segment];
    Cell* const in = cells + plan.cells_before[segment];
    for (std::size_t i = 0; i < known; ++i) {
      const Turn turn = plan.turns[first + i];
      const std::size_t item = first + turn.item();
      const Link* const link = plan.links + 3 * item;
      const Cell value = link[turn.link()].times(in[link[turn.link()].cell()]);
      for (std::size_t a = 0; a < 3; ++a) {
        in[link[a].cell()] = static_cast<Cell>(in[link[a].cell()] - link[a].times(value));
      }
      packed[item] = as.template decode<T>(value, divisor);
    }
    for (std::size_t i = 0; i < size - known; ++i) {
      const std::size_t item = first + plan.waiting[first + i];
      const Cell value = exact != nullptr ? exact[plan.unresolved_before[segment] + i]
                                          : median(in, plan.links + 3 * item);
      packed[item] = as.template decode<T>(value, divisor);
    }
  }

 private:
  PACTRAIN_FN static Cell median(const Cell* in, const Link* link) {
    const auto a = as_signed(link[0].times(in[link[0].cell()]));
    const auto b = as_signed(link[1].times(in[link[1].cell()]));
    const auto c = as_signed(link[2].times(in[link[2].cell()]));
    const auto low = a < b ? a : b, high = a < b ? b : a;
    return static_cast<Cell>(c < low ? low : high < c ? high : c);
  }
  PACTRAIN_FN static auto as_signed(Cell cell) { return SketchValue<Cell>::as_signed(cell); }
};

/// out[i] becomes what a cell holds of values[i].
template <class T, class Cell, class A>
struct AsHeld {
  const T* values;
  SketchValue<Cell> as;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    out[i] = as.template decode<A>(as.encode(values[i]), 1.0);
  }
};
/// 1 where a cell is not zero.
template <class Cell>
struct CellLeft {
  const Cell* cells;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const { return cells[i] != Cell(0) ? 1 : 0; }
};
/// 1 where a cell would not hold a value as it is.
template <class T, class Cell>
struct Inexact {
  const T* packed;
  SketchValue<Cell> as;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const { return as.exact(packed[i]) ? 0 : 1; }
};

}  // namespace pactrain::kernel

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain::kernel {

/// The natural logarithm of a positive, finite, normal number, by additions, products and one
/// quotient: the same bits wherever those are, which no mathematical library promises.
PACTRAIN_FN constexpr double natural_log(double x) {
  const auto bits = bits_as<std::uint64_t>(x);
  auto exponent = static_cast<std::int64_t>(bits >> 52 & 0x7ff) - 1023;
  double m = bits_as<double>((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1), t = s * s;  // ln m = 2 (s + s^3/3 + ...), |s| < 0.172
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * t + 1.0 / k;
  return 2 * s * sum + static_cast<double>(exponent) * 0.6931471805599453;
}

/// Sums over the magnitudes that lie above a bar: of what they exceed it by, its square, the
/// logarithm of the magnitude, and their number.
struct Moments {
  double sum = 0, squares = 0, logs = 0;
  std::uint64_t count = 0;
};

/// The entries of a part are summed by units of so many, in lanes by their place: an order that
/// depends on nothing but the part's size, however it is cut into pieces and whatever runs it.
inline constexpr std::size_t moment_unit = 2048, moment_lanes = 8;

/// A unit's sums on their way.
struct MomentLanes {
  double sum[moment_lanes], squares[moment_lanes], logs[moment_lanes];
  std::uint64_t count;
};

/// The bits of the greatest finite float that is not above a bar, which is not negative: a float
/// whose magnitude's bits are more lies above it.
constexpr std::uint32_t floats_below(double bar) {
  const double most = static_cast<double>(bits_as<float>(exponent_mask<float> - 1));
  if (bar >= most) return exponent_mask<float> - 1;
  const auto nearest = static_cast<float>(bar);
  return bits_as<std::uint32_t>(nearest) - (static_cast<double>(nearest) > bar ? 1 : 0);
}

/// Adds the `n` entries from place `at` of a part on to the lanes of their units: magnitudes above
/// `bar`, infinities and NaNs left out. A unit that begins before them goes on where it was.
template <class T>
struct AddMoments {
  const T* x;
  std::size_t at, n;
  double bar;
  bool with_logs;
  MomentLanes* units;  ///< of the part
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t unit = at / moment_unit + i, begin = first_of(unit);
    MomentLanes lanes = begun(unit);
    add_places(lanes, begin, end_of(unit));
    units[unit] = lanes;
  }
  /// The first of these entries' places in a unit, and the one behind their last.
  PACTRAIN_FN std::size_t first_of(std::size_t unit) const {
    return unit * moment_unit < at ? at : unit * moment_unit;
  }
  PACTRAIN_FN std::size_t end_of(std::size_t unit) const {
    return at + n < (unit + 1) * moment_unit ? at + n : (unit + 1) * moment_unit;
  }
  /// The sums of a unit before these entries.
  PACTRAIN_FN MomentLanes begun(std::size_t unit) const {
    return first_of(unit) > unit * moment_unit ? units[unit] : MomentLanes{};
  }
  /// Adds the entries at the places [p, end) of one unit.
  PACTRAIN_FN void add_places(MomentLanes& lanes, std::size_t p, std::size_t end) const {
    for (; p < end && p % moment_lanes != 0; ++p) add<1>(lanes, p);
    for (; p + moment_lanes <= end; p += moment_lanes) add<moment_lanes>(lanes, p);
    for (; p < end; ++p) add<1>(lanes, p);
  }

 private:
  /// Adds `count` entries from place `p` on, none of which share a lane: without branches, so that
  /// compilers use vectors; what takes no part adds zero.
  template <std::size_t count>
  PACTRAIN_FN void add(MomentLanes& lanes, std::size_t p) const {
    using A = arithmetic_t<T>;
    const std::size_t lane = count == 1 ? p % moment_lanes : 0;
    double size[count];
    bool in[count];
    for (std::size_t j = 0; j < count; ++j) {
      const T value = x[p - at + j];
      size[j] = static_cast<double>(cast<A>(bits_as<T>(magnitude(value))));
      in[j] = size[j] > bar && is_finite(value);
    }
    std::uint64_t found = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const double over = in[j] ? size[j] - bar : 0.0;
      lanes.sum[lane + j] += over;
      lanes.squares[lane + j] += over * over;
      found += in[j] ? 1 : 0;
    }
    lanes.count += found;
    for (std::size_t j = 0; with_logs && j < count; ++j) {
      if (in[j]) lanes.logs[lane + j] += natural_log(size[j]);
    }
  }
};

/// out[unit] = the sums of its lanes.
struct FoldMoments {
  const MomentLanes* units;
  Moments* out;
  PACTRAIN_FN void operator()(std::size_t unit) const {
    const MomentLanes& lanes = units[unit];
    Moments all;
    for (std::size_t lane = 0; lane < moment_lanes; ++lane) {
      all.sum += lanes.sum[lane];
      all.squares += lanes.squares[lane];
      all.logs += lanes.logs[lane];
    }
    all.count = lanes.count;
    out[unit] = all;
  }
};

}  // namespace pactrain::kernel

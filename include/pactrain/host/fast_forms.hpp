// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd.hpp>
#include <pactrain/host/simd/level.hpp>
#include <pactrain/host/simd/processor.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/codes.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/kernel/moments.hpp>
#include <pactrain/kernel/quantise.hpp>
#include <pactrain/kernel/quantise_rules.hpp>
#include <pactrain/kernel/ternary.hpp>
#include <pactrain/kernel/units.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

/// Kernels of codecs and of choices in the form that is fast on processors with vector units: see
/// `for_each_fast`. Where there are none, or `PACTRAIN_SIMD` says portable, the kernel itself runs:
/// it is the oracle.
namespace pactrain::simd {

/// `FastForm<K>{n, kernel}`, where there is one for the kernel K. A level that is named must not be
/// above `best_level()`.
template <class K>
struct FastForm {};

template <class K>
concept HasFastForm = requires { FastForm<K>::grain; };

/// Kernels of single values do this many at once.
template <class K>
struct FastElements {
  static constexpr std::size_t grain = 1024;
  std::size_t n;
  K k;
  Level level = simd::level();
  void operator()(std::size_t index) const {
    const std::size_t first = index * grain, count = std::min(grain, n - first);
    const std::size_t done =
        with_codes(level, [&](auto codes) { return codes.run(k, first, count); });
    for (std::size_t i = first + done; i < first + count; ++i) k(i);
  }
};
template <>
struct FastForm<kernel::Convert<float, float16>> : FastElements<kernel::Convert<float, float16>> {};
template <>
struct FastForm<kernel::Convert<float, bfloat16>> : FastElements<kernel::Convert<float, bfloat16>> {
};
template <>
struct FastForm<kernel::AddTo<float16, float>> : FastElements<kernel::AddTo<float16, float>> {};
template <>
struct FastForm<kernel::AddTo<bfloat16, float>> : FastElements<kernel::AddTo<bfloat16, float>> {};

template <class Rule>
concept FastRule = std::same_as<Rule, kernel::Int8Rule> || std::same_as<Rule, kernel::Int4Rule> ||
                   std::same_as<Rule, kernel::SignRule>;

template <FastRule Rule>
struct FastForm<kernel::MeasureUnits<Rule, float>> {
  static constexpr std::size_t grain = 1;
  std::size_t n;
  kernel::MeasureUnits<Rule, float> k;
  Level level = simd::level();
  void operator()(std::size_t number) const {
    const kernel::Unit unit = k.units(number);
    with_codes(level, [&](auto codes) {
      k.moments[number] = codes.measure(k.rule, k.values + unit.first, unit.size);
    });
  }
};

template <FastRule Rule>
struct FastForm<kernel::EncodeUnits<Rule, float>> {
  static constexpr std::size_t grain = 1;
  std::size_t n;
  kernel::EncodeUnits<Rule, float> k;
  Level level = simd::level();
  void operator()(std::size_t number) const {
    if (level == Level::portable) return k(number);
    const kernel::Unit unit = k.units(number);
    const float* const x = k.values + unit.first;
    float shared[Rule::most_numbers] = {};
    std::byte* const place = k.numbers + unit.scale * k.rule.numbers() * sizeof(float);
    std::byte* const out = k.codes + unit.code;
    const std::size_t done = with_codes(level, [&](auto codes) {
      if (k.measured) {
        std::memcpy(shared, place, k.rule.numbers() * sizeof(float));
      } else if (k.rule.numbers() > 0) {
        k.rule.finish(codes.measure(k.rule, x, unit.size), unit.size, shared);
        kernel::store_numbers(shared, k.rule.numbers(), place);
      }
      return codes.encode(k.rule, x, unit.size, shared, out);
    });
    kernel::CodeWriter rest(out + kernel::code_bytes(done, k.rule.bits()));
    for (std::size_t j = done; j < unit.size; ++j) {
      rest.put(k.rule.code(x[j], shared, 0.0f), k.rule.bits());
    }
    rest.finish();
  }
};

template <FastRule Rule>
struct FastForm<kernel::DecodeUnits<Rule, float>> {
  static constexpr std::size_t grain = 1;
  std::size_t n;
  kernel::DecodeUnits<Rule, float> k;
  Level level = simd::level();
  void operator()(std::size_t number) const {
    if (level == Level::portable) return k(number);
    const kernel::Unit unit = k.units(number);
    float shared[Rule::most_numbers] = {};
    std::memcpy(shared, k.numbers + unit.scale * k.rule.numbers() * sizeof(float),
                k.rule.numbers() * sizeof(float));
    const std::byte* const in = k.codes + unit.code;
    float* const to = k.sum + unit.first;
    const std::size_t done = with_codes(
        level, [&](auto codes) { return codes.decode(k.rule, in, unit.size, shared, to); });
    kernel::CodeReader rest(in + kernel::code_bytes(done, k.rule.bits()));
    for (std::size_t j = done; j < unit.size; ++j) {
      to[j] += k.rule.template value<float>(rest.get(k.rule.bits()), shared);
    }
  }
};

template <>
struct FastForm<kernel::MeasureSpread<float>> {
  static constexpr std::size_t grain = 1;
  std::size_t n;
  kernel::MeasureSpread<float> k;
  Level level = simd::level();
  void operator()(std::size_t number) const {
    const kernel::Unit unit = k.units(number);
    k.spread[number] = with_codes(level, [&](auto codes) {
      return codes.spread(k.values + unit.first, unit.size, k.with_squares);
    });
  }
};

template <>
struct FastForm<kernel::EncodeTernary<float, std::int8_t>> {
  static constexpr std::size_t grain = 1;
  std::size_t n;
  kernel::EncodeTernary<float, std::int8_t> k;
  Level level = simd::level();
  void operator()(std::size_t number) const {
    const kernel::Unit unit = k.units(number);
    const float scale = k.scales[unit.scale];
    if (level == Level::portable || !(scale > 0.0f)) return k(number);
    constexpr std::size_t group = 16, width = 256;
    float u[width + 7 * group];  // vectors write beyond the last group
    const float* x = k.values + unit.first;
    std::int8_t* out = k.wire + unit.first;
    const std::size_t end = unit.at + unit.size;
    for (std::size_t at = unit.at; at < end;) {
      const std::size_t begin = at / group * group, stop = std::min(begin + width, end);
      const std::size_t count = stop - at;
      const float* const from = u + (at - begin);
      const std::size_t done = with_codes(level, [&](auto codes) {
        codes.uniforms(k.random, unit.part, begin / group, kernel::pieces_of(stop - begin, group),
                       u);
        return codes.digits(x, scale, from, count, out);
      });
      for (std::size_t i = done; i < count; ++i) {
        out[i] = static_cast<std::int8_t>(ternary_digit(x[i], scale, from[i]));
      }
      x += count;
      out += count;
      at = stop;
    }
  }
};

template <>
struct FastForm<kernel::DecodeTernary<std::int8_t, float>> {
  static constexpr std::size_t grain = 1;
  std::size_t n;
  kernel::DecodeTernary<std::int8_t, float> k;
  Level level = simd::level();
  void operator()(std::size_t number) const {
    const kernel::Unit unit = k.units(number);
    const std::int8_t* const digits = k.wire + unit.first;
    float* const to = k.sum + unit.first;
    const float scale = k.scales[unit.scale];
    const std::size_t done = with_codes(
        level, [&](auto codes) { return codes.add_digits(digits, scale, unit.size, to); });
    for (std::size_t j = done; j < unit.size; ++j) to[j] += static_cast<float>(digits[j]) * scale;
  }
};

template <>
struct FastForm<kernel::AddMoments<float>> {
  static constexpr std::size_t grain = 1;
  std::size_t n;
  kernel::AddMoments<float> k;
  Level level = simd::level();
  void operator()(std::size_t index) const {
    if (k.with_logs) return k(index);
    const std::size_t unit = k.at / kernel::moment_unit + index, end = k.end_of(unit);
    std::size_t p = k.first_of(unit);
    kernel::MomentLanes lanes = k.begun(unit);
    const std::size_t lane = p % kernel::moment_lanes;
    const std::size_t whole = std::min(lane == 0 ? p : p - lane + kernel::moment_lanes, end);
    k.add_places(lanes, p, whole);
    p = whole;
    p += with_codes(level, [&](auto codes) {
      return codes.add_moments(k.x + (p - k.at), end - p, k.bar, lanes);
    });
    k.add_places(lanes, p, end);
    k.units[unit] = lanes;
  }
};

/// Counts so many entries at once: where all take part, in a loop that compilers make by vectors.
template <class Count>
struct FastCount {
  static constexpr std::size_t grain = 4096;
  std::size_t n;
  Count k;
  std::size_t operator()(std::size_t index) const {
    const std::size_t first = index * grain, count = std::min(grain, n - first);
    std::size_t all = 0;
    if (k.among.words != nullptr) {
      for (std::size_t i = 0; i < count; ++i) all += k(first + i);
      return all;
    }
    const Count counter = k;
    const auto* const x = counter.x + first;
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < count; ++i) found += counter.counts(x[i]) ? 1u : 0u;
    return found;
  }
};
template <class T>
struct FastForm<kernel::CountAtLeast<T>> : FastCount<kernel::CountAtLeast<T>> {};
template <class T>
struct FastForm<kernel::CountEqual<T>> : FastCount<kernel::CountEqual<T>> {};

}  // namespace pactrain::simd

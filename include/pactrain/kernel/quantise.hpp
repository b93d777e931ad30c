// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/codes.hpp>
#include <pactrain/kernel/units.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Kernels of codecs whose wire is, for each block, numbers that its values share, and, for each
/// value, a code of a few bits. A `Rule` says what they mean:
/// - `most_numbers`, a constant, and `numbers()`: how many numbers a block has, of the type A that
///   values are added in; `bits()`: of a code; `draws()`: does a code need a random number?
/// - `Moments<S>`, `measure(x, n)`, `merge(a, b)`, `finish(moments, n, numbers)`: from the values
/// of
///   units, merged in order, to the numbers of the block that they make up;
/// - `code(x, numbers, u)` and `value<A>(code, numbers)`: of one value.
namespace pactrain::kernel {

template <class A>
PACTRAIN_FN void store_numbers(const A* numbers, std::size_t count, std::byte* to) {
  std::memcpy(to, numbers, count * sizeof(A));
}

/// moments[unit] = what a unit's values contribute to the numbers of its block.
template <class Rule, class S>
struct MeasureUnits {
  Rule rule;
  Units units;
  const S* values;
  typename Rule::template Moments<S>* moments;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    moments[number] = rule.measure(values + unit.first, unit.size);
  }
};

/// The numbers of each block, from the moments of its units in their order.
template <class Rule, class S>
struct FinishBlocks {
  Rule rule;
  Units units;
  const typename Rule::template Moments<S>* moments;
  std::byte* numbers;
  PACTRAIN_FN void operator()(std::size_t block) const {
    using A = arithmetic_t<S>;
    const Units::Range range = units.under(block);
    auto all = moments[range.first];
    for (std::size_t i = range.first + 1; i < range.last; ++i) all = rule.merge(all, moments[i]);
    A found[Rule::most_numbers];
    rule.finish(all, range.values, found);
    store_numbers(found, rule.numbers(), numbers + block * rule.numbers() * sizeof(A));
  }
};

/// The codes of a unit's values and, where the unit is a block that was not `measured` before, its
/// numbers.
template <class Rule, class S>
struct EncodeUnits {
  using A = arithmetic_t<S>;
  Rule rule;
  Units units;
  bool measured;
  const S* values;
  std::byte* numbers;
  std::byte* codes;
  Random random;

  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    const S* const x = values + unit.first;
    A shared[Rule::most_numbers] = {};
    std::byte* const place = numbers + unit.scale * rule.numbers() * sizeof(A);
    if (measured) {
      std::memcpy(shared, place, rule.numbers() * sizeof(A));
    } else if (rule.numbers() > 0) {
      rule.finish(rule.measure(x, unit.size), unit.size, shared);
      store_numbers(shared, rule.numbers(), place);
    }
    CodeWriter out(codes + unit.code);
    const unsigned bits = rule.bits();
    if (rule.draws()) {
      constexpr std::size_t group = 16;
      float u[group];
      for (std::size_t j = 0; j < unit.size; ++j) {
        const std::size_t at = unit.at + j;
        if (j == 0 || at % group == 0) uniforms(random, unit.part, at / group, u);
        out.put(rule.code(cast<A>(x[j]), shared, u[at % group]), bits);
      }
    } else {
      for (std::size_t j = 0; j < unit.size; ++j) {
        out.put(rule.code(cast<A>(x[j]), shared, 0.0f), bits);
      }
    }
    out.finish();
  }
};

/// sum[i] += what its code means.
template <class Rule, class A>
struct DecodeUnits {
  Rule rule;
  Units units;
  const std::byte* numbers;  ///< copied before use, for wires of other ranks lie anywhere
  const std::byte* codes;
  A* sum;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    A shared[Rule::most_numbers] = {};
    std::memcpy(shared, numbers + unit.scale * rule.numbers() * sizeof(A),
                rule.numbers() * sizeof(A));
    A* const to = sum + unit.first;
    CodeReader in(codes + unit.code);
    const unsigned bits = rule.bits();
    for (std::size_t j = 0; j < unit.size; ++j) {
      to[j] += rule.template value<A>(in.get(bits), shared);
    }
  }
};

}  // namespace pactrain::kernel

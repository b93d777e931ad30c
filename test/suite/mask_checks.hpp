// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/mask_sets.hpp>
#include <suite/values.hpp>
#include <suite/world.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Is a mask the set that it should be? Every question that a mask answers, against the set itself.
namespace pactrain::test::mask {

inline constexpr std::size_t unset = ~std::size_t{0};

/// Notes what is visited.
struct Record {
  std::size_t* position_of;
  std::size_t* slot_of;
  PACTRAIN_FN void operator()(std::size_t slot, std::size_t position) const {
    position_of[slot] = position;
    slot_of[position] = slot_of[position] == ~std::size_t{0} ? slot : ~std::size_t{0} - 1;
  }
};

/// to[i] = set(i).
template <class Keep>
struct Ask {
  Keep set;
  std::uint8_t* to;
  PACTRAIN_FN void operator()(std::size_t i) const { to[i] = set(i) ? 1 : 0; }
};

template <Executor E, class MaskOn>
void check_visit(E& exec, const MaskOn& mask, const Set& set, std::size_t first, std::size_t last) {
  const std::size_t n = set.size();
  const Array<std::size_t, E> position_of(exec, n, unset), slot_of(exec, n, unset);
  mask.visit(exec, first, last, Record{position_of.span().data(), slot_of.span().data()});
  std::vector<std::size_t> positions(n, unset), slots(n, unset);
  for (std::size_t p = 0, slot = 0; p < n; ++p) {
    if (!set[p]) continue;
    if (p >= first && p < last) {
      positions[slot] = p;
      slots[p] = slot;
    }
    ++slot;
  }
  CHECK(position_of.read() == positions);
  CHECK(slot_of.read() == slots);
}

/// Values that a careless clearing would change or leave: NaNs with payloads, infinities, -0.0.
template <GradientValue T>
std::vector<T> odd_values(std::size_t n) {
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    constexpr auto sign = static_cast<bits_t<T>>(bits_t<T>{1} << (8 * sizeof(T) - 1));
    const bits_t<T> bits[] = {sign, static_cast<bits_t<T>>(exponent_mask<T> | 5),
                              static_cast<bits_t<T>>(exponent_mask<T> | sign), 1,
                              static_cast<bits_t<T>>(kernel::mix(i, 3) | 1)};
    values[i] = std::bit_cast<T>(bits[i % 5]);
  }
  return values;
}

template <GradientValue T, Executor E, class MaskOn>
void check_clear(E& exec, const MaskOn& mask, const Set& set, std::size_t first, std::size_t last) {
  constexpr std::size_t guards = 16;
  std::vector<T> expected = odd_values<T>(last - first + 2 * guards);
  const Array<T, E> values(exec, std::span<const T>(expected), 1);
  mask.clear(exec, first, values.span().subspan(guards, last - first));
  for (std::size_t p = first; p < last; ++p) {
    if (!set[p]) expected[guards + p - first] = T{};
  }
  CHECK(same_bits(values.read(), expected));
}

template <Executor E, class MaskOn>
void check_range(E& exec, const MaskOn& mask, const Set& set, std::size_t first, std::size_t last) {
  CAPTURE(first);
  CAPTURE(last);
  check_visit(exec, mask, set, first, last);
  check_clear<float>(exec, mask, set, first, last);
  check_clear<bfloat16>(exec, mask, set, first, last);
  CHECK(mask.fingerprint(exec, first, last) == fingerprint(set, first, last));
  const auto before =
      std::count(set.begin(), set.begin() + static_cast<std::ptrdiff_t>(first), true);
  CHECK(mask.slot(exec, first) == static_cast<std::size_t>(before));
}

/// Every answer of `mask` is that of `set`.
template <Executor E, class MaskOn>
void check_holds(E& exec, const MaskOn& mask, const Model& model, const Set& set,
                 std::uint64_t seed = 1) {
  const std::size_t n = set.size();
  CHECK(mask.count() == static_cast<std::size_t>(std::count(set.begin(), set.end(), true)));
  CHECK(mask.slot(exec, n) == mask.count());
  const Array<std::uint8_t, E> kept(exec, n);
  exec.for_each(n, Ask{mask.keep(), kept.span().data()});
  CHECK(kept.read() == std::vector<std::uint8_t>(set.begin(), set.end()));
  check_range(exec, mask, set, 0, n);
  check_range(exec, mask, set, n, n);
  for (const Part& part : model.parts()) {
    check_range(exec, mask, set, part.first, part.first + part.size);
  }
  for (std::uint64_t i = 0; i < 3 && n > 0; ++i) {
    const std::size_t a = kernel::mix(seed, 2 * i) % n, b = kernel::mix(seed, 2 * i + 1) % (n + 1);
    check_range(exec, mask, set, std::min(a, b), std::max(a, b));
  }
}

}  // namespace pactrain::test::mask

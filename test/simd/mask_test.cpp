// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;

TEST_CASE_TEMPLATE("clear_unkept zeroes what the mask leaves out and nothing else", T, float,
                   double, float16, bfloat16, std::int32_t, Label) {
  for_each_case([](simd::Level level, std::size_t first, std::size_t n, Density density,
                   std::size_t offset, std::mt19937_64& random) {
    const auto words = make_mask(first, n, density, random);
    Guarded<T> dense(n, offset);
    std::vector<T> expected(n);
    for (std::size_t i = 0; i < n; ++i) {
      set_any(dense[i], random);
      if (kept(words, first + i)) expected[i] = dense[i];
    }

    simd::clear_unkept(level, words.data(), first, n, dense.data());

    INFO(simd::name_of(level), " n ", n, " first ", first, " density ", int(density));
    CHECK(dense.intact(n));
    bool equal = true;
    for (std::size_t i = 0; i < n; ++i) equal &= same(dense[i], expected[i]);
    CHECK(equal);
  });
}

TEST_CASE_TEMPLATE("any_stray sees any non-zero outside the mask and none inside", T, float, double,
                   float16, bfloat16) {
  const auto negative_zero = static_cast<bits_t<T>>(~simd::magnitude_mask<T>);
  const bits_t<T> strays[] = {1u, std::bit_cast<bits_t<T>>(T(-1.0f)),
                              static_cast<bits_t<T>>(exponent_mask<T> | 1u),
                              static_cast<bits_t<T>>(~bits_t<T>{0})};
  for_each_case([&](simd::Level level, std::size_t first, std::size_t n, Density density,
                    std::size_t offset, std::mt19937_64& random) {
    const auto words = make_mask(first, n, density, random);
    Guarded<T> x(n, offset);
    std::vector<std::size_t> outside;
    for (std::size_t i = 0; i < n; ++i) {
      set_any(x[i], random);
      if (kept(words, first + i)) continue;
      set_bits(x[i], random() % 2 == 0 ? 0u : negative_zero);
      outside.push_back(i);
    }
    INFO(simd::name_of(level), " n ", n, " first ", first, " density ", int(density));
    const auto stray = [&] { return simd::any_stray(level, words.data(), first, n, x.data()); };
    CHECK_FALSE(stray());
    if (outside.empty()) return;
    for (const auto value : strays) {
      for (const std::size_t i :
           {outside.front(), outside[random() % outside.size()], outside.back()}) {
        const T before = x[i];
        set_bits(x[i], value);
        CHECK(stray());
        x[i] = before;
      }
    }
  });
}

TEST_CASE_TEMPLATE("all_finite sees one infinity or NaN anywhere", T, float, double, float16,
                   bfloat16) {
  std::mt19937_64 random(3);
  const bits_t<T> largest = exponent_mask<T> - 1u;
  for (const auto level : levels()) {
    for (const std::size_t n : sizes) {
      Guarded<T> x(n, random() % 16);
      for (std::size_t i = 0; i < n; ++i) {
        if (i % 5 == 0) set_bits(x[i], largest);
        else set_finite(x[i], random);
      }
      CHECK(simd::all_finite(level, x.data(), n));
      if (n == 0) continue;
      for (const auto special : non_finite_bits<T>) {
        for (const std::size_t i : {std::size_t{0}, n / 2, n - 1}) {
          const T before = x[i];
          set_bits(x[i], special);
          CHECK_FALSE(simd::all_finite(level, x.data(), n));
          x[i] = before;
        }
      }
    }
  }
}

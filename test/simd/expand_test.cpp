// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;

TEST_CASE_TEMPLATE("expand writes slots where bits are set and zeros elsewhere", T, float, double,
                   float16, bfloat16, std::int32_t, std::uint64_t, Label) {
  for_each_case([](simd::Level level, std::size_t first, std::size_t n, Density density,
                   std::size_t offset, std::mt19937_64& random) {
    const auto words = make_mask(first, n, density, random);
    std::vector<T> expected(n), packed;
    for (std::size_t i = 0; i < n; ++i) {
      if (!kept(words, first + i)) continue;
      set_any(packed.emplace_back(), random);
      expected[i] = packed.back();
    }
    packed.shrink_to_fit();  // so that a sanitizer sees reads behind the last slot

    Guarded<T> dense(n, offset);
    const std::size_t count =
        simd::expand(level, words.data(), first, n, packed.data(), dense.data());

    INFO(simd::name_of(level), " n ", n, " first ", first, " density ", int(density));
    CHECK(count == packed.size());
    CHECK(dense.intact(n));
    bool equal = true;
    for (std::size_t i = 0; i < n; ++i) equal &= same(dense[i], expected[i]);
    CHECK(equal);
  });
}

TEST_CASE_TEMPLATE("expand of a vector large enough to be streamed", T, float, double, bfloat16) {
  std::mt19937_64 random(11);
  constexpr std::size_t n = simd::streamed_bytes / sizeof(T) + 777;
  for (const auto level : levels()) {
    for (const Density density : densities) {
      const auto words = make_mask(5, n, density, random);
      std::vector<T> expected(n), packed;
      for (std::size_t i = 0; i < n; ++i) {
        if (!kept(words, 5 + i)) continue;
        set_any(packed.emplace_back(), random);
        expected[i] = packed.back();
      }
      Guarded<T> dense(n, random() % 64);
      CHECK(simd::expand(level, words.data(), 5, n, packed.data(), dense.data()) == packed.size());
      CHECK(dense.intact(n));
      CHECK(std::memcmp(dense.data(), expected.data(), n * sizeof(T)) == 0);
    }
  }
}

TEST_CASE_TEMPLATE("compress undoes expand", T, float, double, float16, bfloat16) {
  std::mt19937_64 random(13);
  constexpr std::size_t n = 20000;
  for (const auto level : levels()) {
    const auto words = make_mask(17, n, Density::half, random);
    std::vector<T> packed(n), dense(n), again(n);
    for (T& x : packed) set_any(x, random);
    const std::size_t count = simd::expand(level, words.data(), 17, n, packed.data(), dense.data());
    REQUIRE(simd::compress(level, words.data(), 17, n, dense.data(), again.data()) == count);
    CHECK(std::memcmp(packed.data(), again.data(), count * sizeof(T)) == 0);
  }
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;

TEST_CASE_TEMPLATE("compress copies kept entries in order and writes nothing else", T, float,
                   double, float16, bfloat16, std::int32_t, std::uint64_t, Label) {
  for_each_case([](simd::Level level, std::size_t first, std::size_t n, Density density,
                   std::size_t offset, std::mt19937_64& random) {
    const auto words = make_mask(first, n, density, random);
    std::vector<T> dense(n);
    for (T& x : dense) set_any(x, random);
    std::vector<T> expected;
    for (std::size_t i = 0; i < n; ++i) {
      if (kept(words, first + i)) expected.push_back(dense[i]);
    }

    Guarded<T> packed(expected.size(), offset);
    const std::size_t count =
        simd::compress(level, words.data(), first, n, dense.data(), packed.data());

    INFO(simd::name_of(level), " n ", n, " first ", first, " density ", int(density));
    REQUIRE(count == expected.size());
    CHECK(packed.intact(count));
    bool equal = true;
    for (std::size_t i = 0; i < count; ++i) equal &= same(packed[i], expected[i]);
    CHECK(equal);
  });
}

TEST_CASE_TEMPLATE("compress with a scan packs the same and sees kept and pruned entries alike", T,
                   float, double, float16, bfloat16) {
  for_each_case([&](simd::Level level, std::size_t first, std::size_t n, Density density,
                    std::size_t offset, std::mt19937_64& random) {
    const auto words = make_mask(first, n, density, random);
    Guarded<T> dense(n, random() % 16);
    for (std::size_t i = 0; i < n; ++i) set_finite(dense[i], random);
    std::vector<T> plain(n);
    const std::size_t count =
        simd::compress(level, words.data(), first, n, dense.data(), plain.data());

    INFO(simd::name_of(level), " n ", n, " first ", first, " density ", int(density));
    const auto scan = [&](bool before) {
      Guarded<T> packed(count, offset);
      bool non_finite = before;
      CHECK(simd::compress(level, words.data(), first, n, dense.data(), packed.data(),
                           &non_finite) == count);
      CHECK(packed.intact(count));
      return non_finite;
    };
    Guarded<T> packed(count, offset);
    bool non_finite = false;
    simd::compress(level, words.data(), first, n, dense.data(), packed.data(), &non_finite);
    CHECK_FALSE(non_finite);
    bool equal = true;
    for (std::size_t i = 0; i < count; ++i) equal &= same(packed[i], plain[i]);
    CHECK(equal);
    CHECK(scan(true));

    for (const auto special : non_finite_bits<T>) {
      if (n == 0) break;
      for (const std::size_t i : {std::size_t{0}, random() % n, n - 1}) {
        const T before = dense[i];
        set_bits(dense[i], special);
        CHECK(scan(false));
        dense[i] = before;
      }
    }
  });
}

TEST_CASE("compress without an explicit level, and with no scan asked for, gives the same") {
  const std::uint64_t words[] = {0b1011};
  const float dense[] = {1, 2, 3, 4};
  float packed[3] = {};
  CHECK(simd::compress(words, 0, 4, dense, packed) == 3);
  CHECK(packed[2] == 4);
  CHECK(simd::compress(words, 1, 3, dense, packed, nullptr) == 2);
  CHECK(packed[1] == 3);
}

TEST_CASE("compress of a vector large enough to be streamed keeps every entry") {
  std::mt19937_64 random(7);
  constexpr std::size_t n = (std::size_t{1} << 20) + 5;
  for (const auto level : levels()) {
    for (const Density density : {Density::percent, Density::half, Density::most, Density::all}) {
      for (const std::size_t offset : {0u, 3u, 16u}) {
        const auto words = make_mask(3, n, density, random);
        std::vector<std::uint32_t> dense(n), expected;
        for (std::size_t i = 0; i < n; ++i) {
          dense[i] = static_cast<std::uint32_t>(i);
          if (kept(words, 3 + i)) expected.push_back(dense[i]);
        }
        Guarded<std::uint32_t> packed(expected.size(), offset);
        REQUIRE(simd::compress(level, words.data(), 3, n, dense.data(), packed.data()) ==
                expected.size());
        CHECK(packed.intact(expected.size()));
        CHECK(std::memcmp(packed.data(), expected.data(), 4 * expected.size()) == 0);
      }
    }
  }
}

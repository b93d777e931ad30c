// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/core/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <set>

using namespace pactrain;

namespace {

using Words = RandomWords<4>;

TEST_CASE("Philox4x32-10 gives the published vectors (Random123, kat_vectors)") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) ==
        Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("no seed, step, part or block shares its words with another") {
  const std::uint64_t values[] = {0, 1, 2, 0xffffffff};
  std::set<Words> seen;
  std::size_t count = 0;
  for (const auto seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
    for (const auto step : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
      for (const auto part : values) {
        for (const auto block : {values[0], values[1], std::uint64_t{1} << 32, values[3]}) {
          seen.insert(random_words({seed, step}, part, block));
          ++count;
        }
      }
    }
  }
  CHECK(seen.size() == count);
}

TEST_CASE("uniform numbers lie in [0, 1)") {
  CHECK(uniform(0) == 0.0f);
  CHECK(uniform(255) == 0.0f);
  CHECK(uniform(256) == 0x1p-24f);
  CHECK(uniform(0x80000000u) == 0.5f);
  CHECK(uniform(0xffffffffu) == 1 - 0x1p-24f);
}

TEST_CASE("groups of sixteen are the words of four blocks") {
  for (const Random random :
       {Random{}, Random{~std::uint64_t{0}, 7}, Random{3, std::uint64_t{5} << 32}}) {
    for (const std::size_t group :
         {std::size_t{0}, std::size_t{1}, std::size_t{1} << 30, std::size_t{1} << 40}) {
      float u[16];
      uniforms(random, 9, group, u);
      for (std::size_t i = 0; i < 16; ++i) {
        CHECK(u[i] == uniform(random_words(random, 9, 4 * group + i / 4)[i % 4]));
      }
    }
  }
}

TEST_CASE("uniform numbers are uniform") {
  constexpr int bins = 16, draws = 1 << 16;
  std::array<int, bins> count{};
  double sum = 0;
  for (std::size_t group = 0; group < draws / 16; ++group) {
    float u[16];
    uniforms({123, 4}, 5, group, u);
    for (const float x : u) {
      ++count[static_cast<std::size_t>(x * bins)];
      sum += double{x};
    }
  }
  CHECK(std::abs(sum / draws - 0.5) < 6 * std::sqrt(1.0 / 12 / draws));
  double chi_squared = 0;
  for (const int c : count) chi_squared += std::pow(c - draws / bins, 2) / (draws / bins);
  CHECK(chi_squared < 60);  // 15 degrees of freedom: above it once in two million
}

}  // namespace

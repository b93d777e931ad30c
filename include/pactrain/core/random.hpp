// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/model.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>

namespace pactrain {

/// Where random numbers of one step come from. There is no state: a number is a function of the
/// seed, the step, the parameter and the index, so nothing that is skipped or restarted shifts it.
struct Random {
  std::uint64_t seed = 0;
  Step step = 0;
};

/// An array of words that device code may index.
template <std::size_t n>
struct RandomWords {
  std::uint32_t at[n];
  PACTRAIN_FN constexpr std::uint32_t operator[](std::size_t i) const { return at[i]; }
  friend constexpr auto operator<=>(const RandomWords&, const RandomWords&) = default;
};

/// Four 32-bit words of Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as
/// easy as 1, 2, 3", SC'11) for a counter of four words and a key of two.
PACTRAIN_FN constexpr RandomWords<4> philox(RandomWords<4> counter, RandomWords<2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

/// The key of Philox that a seed and the high half of a step, which no run reaches, make up.
PACTRAIN_FN constexpr std::uint64_t key_of(Random random) {
  return random.seed ^ (random.step >> 32) * 0x9e3779b97f4a7c15u;
}

/// The random words of entries 4 * block ... 4 * block + 3 of parameter `part`.
PACTRAIN_FN constexpr RandomWords<4> random_words(Random random, std::size_t part,
                                                  std::size_t block) {
  // Distinct counters for parts and steps below 2^32 and blocks below 2^64.
  const std::uint64_t key = key_of(random);
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  return philox({low(block), high(block), low(part), low(random.step)}, {low(key), high(key)});
}

/// A random word as a number in [0, 1), a multiple of 2^-24.
PACTRAIN_FN constexpr float uniform(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

/// The numbers in [0, 1) of entries 16 * group ... 16 * group + 15 of parameter `part`: those of
/// `random_words`, made four blocks at a time so that compilers use vectors.
PACTRAIN_FN constexpr void uniforms(Random random, std::size_t part, std::size_t group, float* u) {
  constexpr std::size_t lanes = 4;
  std::uint32_t c0[lanes], c1[lanes], c2[lanes], c3[lanes];
  const std::uint64_t key = key_of(random);
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (std::size_t i = 0; i < lanes; ++i) {
    const std::uint64_t block = lanes * group + i;
    c0[i] = static_cast<std::uint32_t>(block);
    c1[i] = static_cast<std::uint32_t>(block >> 32);
    c2[i] = static_cast<std::uint32_t>(part);
    c3[i] = static_cast<std::uint32_t>(random.step);
  }
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < lanes; ++i) {
      const std::uint64_t a = std::uint64_t{0xD2511F53u} * c0[i];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<std::uint32_t>(b >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(b);
      c2[i] = static_cast<std::uint32_t>(a >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(a);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (std::size_t i = 0; i < lanes; ++i) {
    u[4 * i] = uniform(c0[i]);
    u[4 * i + 1] = uniform(c1[i]);
    u[4 * i + 2] = uniform(c2[i]);
    u[4 * i + 3] = uniform(c3[i]);
  }
}

}  // namespace pactrain

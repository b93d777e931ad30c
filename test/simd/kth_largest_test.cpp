// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <span>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// Cuts a vector into parts, some of them empty.
template <class T>
std::vector<std::span<const T>> cut(const std::vector<T>& x, std::mt19937_64& random) {
  std::vector<std::span<const T>> parts{{}};
  std::span<const T> rest(x);
  while (!rest.empty()) {
    const std::size_t n = std::min<std::size_t>(rest.size(), random() % (x.size() / 3 + 2));
    parts.push_back(rest.first(n));
    rest = rest.subspan(n);
  }
  parts.push_back({});
  return parts;
}

/// Compares every interesting k with a full sort, whole and in parts, on every level.
template <class T>
void check_against_sort(const std::vector<T>& x, std::mt19937_64& random) {
  std::vector<bits_t<T>> sorted;
  for (const T& value : x) sorted.push_back(simd::magnitude_at(value));
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const std::size_t n = x.size();
  const std::vector<std::span<const T>> whole{std::span<const T>(x)};
  const auto parts = cut(x, random);
  simd::Workspace workspace;
  for (const std::size_t k :
       {std::size_t{1}, std::size_t{2}, n / 100, n / 10, n / 2, n / 2 + 1, n - n / 50, n - 1, n}) {
    if (k < 1 || k > n) continue;
    const auto bar = sorted[k - 1];
    const auto above = static_cast<std::size_t>(
        std::lower_bound(sorted.begin(), sorted.end(), bar, std::greater<>()) - sorted.begin());
    for (const auto level : levels()) {
      INFO(simd::name_of(level), " n ", n, " k ", k);
      CHECK(simd::kth_largest<T>(level, whole, k, workspace) == simd::Bar<T>{bar, above});
      CHECK(simd::kth_largest<T>(level, parts, k, workspace) == simd::Bar<T>{bar, above});
    }
  }
}

constexpr std::size_t lengths[] = {1, 2, 63, 64, 65, 1000, 4096, 4097, 40000, 100003};

}  // namespace

TEST_CASE_TEMPLATE("kth_largest equals a full sort", T, float, double, float16, bfloat16) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  for (const std::size_t n : lengths) {
    std::vector<T> x(n);
    for (T& value : x) set_any(value, random);  // NaNs and infinities of every kind
    check_against_sort(x, random);
    for (T& value : x) value = T(normal(random));
    check_against_sort(x, random);
  }
}

TEST_CASE_TEMPLATE("kth_largest counts ties on the right side", T, float, double, float16,
                   bfloat16) {
  std::mt19937_64 random(6);
  for (const std::size_t n : lengths) {
    std::vector<T> x(n, T(-2.5f));
    check_against_sort(x, random);
    std::fill(x.begin(), x.end(), T{});
    check_against_sort(x, random);
    for (T& value : x) value = random() % 10 == 0 ? T(-1.0f) : T{};
    check_against_sort(x, random);
    for (T& value : x) value = T(static_cast<float>(random() % 4));
    check_against_sort(x, random);
    for (T& value : x) {
      value = T{};
      if (random() % 10 == 0) set_any(value, random);
    }
    check_against_sort(x, random);
  }
}

TEST_CASE_TEMPLATE("kth_largest is exact where a sample misleads", T, float, double, bfloat16) {
  std::mt19937_64 random(8);
  constexpr std::size_t n = 100003;
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = T(static_cast<float>(i));
  check_against_sort(x, random);
  std::reverse(x.begin(), x.end());
  check_against_sort(x, random);
  // Everything that differs sits where no stretch of the sample looks.
  std::fill(x.begin(), x.end(), T(1.0f));
  for (std::size_t i = n - n % (n / 64); i < n; ++i) x[i] = T(static_cast<float>(i));
  check_against_sort(x, random);
}

TEST_CASE("kth_largest orders NaN above infinity above every number") {
  std::vector<float> x(10000, 1.0f);
  set_bits(x[17], 0x7fc00000u);
  set_bits(x[18], 0xff800000u);
  x[19] = std::numeric_limits<float>::max();
  const std::vector<std::span<const float>> parts{std::span<const float>(x)};
  simd::Workspace workspace;
  const auto bar = [&](std::size_t k) { return simd::kth_largest<float>(parts, k, workspace).bar; };
  CHECK(bar(1) == simd::magnitude_at(x[17]));
  CHECK(bar(2) == simd::magnitude_at(x[18]));
  CHECK(bar(3) == simd::magnitude_at(x[19]));
  CHECK(bar(4) == magnitude(1.0f));
}

TEST_CASE("the workspace of kth_largest grows once, whatever k is") {
  std::mt19937_64 random(9);
  std::vector<float> x(100000);
  for (float& value : x) set_finite(value, random);
  const std::vector<std::span<const float>> parts{std::span<const float>(x)};
  simd::Workspace workspace;
  static_cast<void>(simd::kth_largest<float>(parts, 1, workspace));
  const std::size_t bytes = workspace.bytes();
  CHECK(bytes < 4 * x.size());
  for (const std::size_t k : {2u, 1000u, 50000u, 99999u}) {
    static_cast<void>(simd::kth_largest<float>(parts, k, workspace));
  }
  CHECK(workspace.bytes() == bytes);
}

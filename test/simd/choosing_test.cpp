// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/host/fast_forms.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/kernel/moments.hpp>
#include <pactrain/kernel/winners.hpp>
#include <pactrain/policy/sampled_top_k.hpp>

#include <doctest/doctest.h>
#include <simd/support.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

/// Kernels that policies choose by, in their fast forms, against the kernels themselves.
using namespace pactrain;
using namespace pactrain::test;

namespace {

/// Values around 1, with zeros, infinities, NaNs and whatever else floats can be among them.
std::vector<float> values(std::size_t n, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) {
    v = normal(random);
    if (random() % 16 == 0) v = random() % 2 != 0 ? 1.0f : -0.0f;
    if (random() % 64 == 0) set_any(v, random);
    if (random() % 64 == 0) v = -std::numeric_limits<float>::infinity();
    if (random() % 64 == 0) v = std::numeric_limits<float>::quiet_NaN();
  }
  return x;
}

bool same_lanes(const kernel::MomentLanes& a, const kernel::MomentLanes& b) {
  for (std::size_t lane = 0; lane < kernel::moment_lanes; ++lane) {
    if (!same(a.sum[lane], b.sum[lane])) return false;
    if (!same(a.squares[lane], b.squares[lane])) return false;
    if (!same(a.logs[lane], b.logs[lane])) return false;
  }
  return a.count == b.count;
}

/// Calls `add(at, size)` for the pieces of a part that end at `ends`, in order.
template <class Add>
void add_pieces(const std::vector<std::size_t>& ends, Add add) {
  std::size_t at = 0;
  for (const std::size_t end : ends) {
    if (end > at) add(at, end - at);
    at = end;
  }
}

TEST_CASE("moments above a bar, of parts cut anywhere") {
  constexpr std::size_t unit = kernel::moment_unit;
  std::mt19937_64 random(3);
  const double bars[] = {0.0,   0.1, 0.5, 1.0, std::nextafter(1.0, 2.0), std::nextafter(1.0, 0.0),
                         1e-42, 3.0, 1e39};
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{7}, std::size_t{40}, unit, unit + 1, 3 * unit - 5}) {
    std::vector<float> x = values(n, random);
    std::vector<std::size_t> cut(5);
    for (std::size_t& end : cut) end = random() % n;
    std::ranges::sort(cut);
    cut.push_back(n);
    for (const double bar : bars) {
      for (const bool logs : {false, true}) {
        const std::size_t units = (n + unit - 1) / unit;
        std::vector<kernel::MomentLanes> whole(units);
        for (std::size_t i = 0; i < units; ++i) {
          kernel::AddMoments<float>{x.data(), 0, n, bar, logs, whole.data()}(i);
        }
        for (const auto level : levels()) {
          CAPTURE(simd::name_of(level));
          CAPTURE(n);
          CAPTURE(bar);
          std::vector<kernel::MomentLanes> fast(units);
          add_pieces(cut, [&](std::size_t at, std::size_t size) {
            simd::FastForm<kernel::AddMoments<float>> form{
                (at + size - 1) / unit - at / unit + 1,
                {x.data() + at, at, size, bar, logs, fast.data()}};
            form.level = level;
            for (std::size_t i = 0; i < form.n; ++i) form(i);
          });
          CHECK(std::ranges::equal(whole, fast, same_lanes));
        }
      }
    }
  }
}

TEST_CASE("the greatest float that is not above a bar") {
  CHECK(kernel::floats_below(0.0) == 0);
  CHECK(kernel::floats_below(1.0) == 0x3f800000);
  CHECK(kernel::floats_below(std::nextafter(1.0, 2.0)) == 0x3f800000);
  CHECK(kernel::floats_below(std::nextafter(1.0, 0.0)) == 0x3f7fffff);
  CHECK(kernel::floats_below(1e-46) == 0);
  CHECK(kernel::floats_below(std::numeric_limits<float>::max()) == 0x7f7fffff);
  CHECK(kernel::floats_below(1e300) == 0x7f7fffff);
}

template <class T, class Count>
void check_counts(const std::vector<T>& x, Count kernel) {
  using Form = simd::FastForm<Count>;
  for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{4095}, x.size()}) {
    std::size_t one_by_one = 0, fast = 0;
    for (std::size_t i = 0; i < n; ++i) one_by_one += kernel(i);
    const Form form{n, kernel};
    for (std::size_t i = 0; i < (n + Form::grain - 1) / Form::grain; ++i) fast += form(i);
    CHECK(one_by_one == fast);
  }
}

TEST_CASE_TEMPLATE("counts", T, float, double, float16, bfloat16) {
  std::mt19937_64 random(4);
  std::vector<T> x(10000);
  for (T& v : x) {
    set_any(v, random);
    if (random() % 4 == 0) v = T(1.0f);
  }
  const std::vector<std::uint64_t> words = make_mask(7, x.size(), Density::half, random);
  const bits_t<T> bar = magnitude(T(1.0f));
  for (const kernel::Among among : {kernel::Among{}, kernel::Among{words.data(), 7}}) {
    check_counts(x, kernel::CountAtLeast<T>{x.data(), among, bar});
    check_counts(x, kernel::CountEqual<T>{x.data(), among, bar});
  }
}

TEST_CASE("answers for 64 entries at once") {
  std::mt19937_64 random(5);
  constexpr std::size_t n = 256;
  const std::vector<float> x = values(n, random);
  const std::vector<std::uint64_t> words = make_mask(3, n, Density::half, random);
  const std::uint32_t one = magnitude(1.0f), most = std::numeric_limits<std::uint32_t>::max();
  const auto check = [&](const auto& keep) {
    for (std::size_t at = 0; at + 64 <= n; at += 16) {
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < 64; ++i) bits |= std::uint64_t{keep(at + i)} << i;
      CHECK(kernel::kept_word(keep, at) == bits);
    }
  };
  for (const kernel::Among among : {kernel::Among{}, kernel::Among{words.data(), 3}}) {
    for (const std::size_t below : {0u, 1u, 63u, 64u, 65u, 100u, 128u, 256u, 1000u}) {
      for (const std::uint32_t bar : {0u, one, most}) {
        const kernel::KeepLargest<float> largest{x.data(), among, {bar, below}};
        check(largest);
        for (const std::size_t end : {0u, 64u, 70u, 200u, 256u}) {
          check(kernel::KeepLargestBelow<float>{largest, end});
        }
      }
    }
  }
}

TEST_CASE("winners of chunks") {
  std::mt19937_64 random(6);
  constexpr std::size_t n = 500;
  std::vector<float> x = values(n, random);
  for (float& v : x) v = std::round(v);  // many are alike
  for (const std::size_t width : {1u, 7u, 64u, 100u, 1000u}) {
    std::vector<std::size_t> first_largest;
    for (std::size_t begin = 0; begin < n; begin += width) {
      std::size_t best = begin;
      for (std::size_t p = begin; p < std::min(begin + width, n); ++p) {
        if (magnitude(x[p]) > magnitude(x[best])) best = p;
      }
      first_largest.push_back(best);
    }
    for (const std::size_t cut : {0u, 1u, 63u, 250u, 499u}) {
      std::vector<kernel::Winner> winners(first_largest.size());
      add_pieces({cut, n}, [&](std::size_t at, std::size_t size) {
        for (std::size_t i = 0; i <= (at + size - 1) / width - at / width; ++i) {
          kernel::FindWinner<float>{x.data() + at, at, size, width, winners.data()}(i);
        }
      });
      CHECK(std::ranges::equal(first_largest, winners, {}, {}, &kernel::Winner::at));
      const kernel::KeepWinners<float> keep{winners.data(), cut, width, {}};
      for (std::size_t i = 0; cut + i + 64 <= n; ++i) {
        std::uint64_t bits = 0;
        for (std::size_t j = 0; j < 64; ++j) bits |= std::uint64_t{keep(i + j)} << j;
        CHECK(kernel::kept_word(keep, i) == bits);
      }
    }
  }
}

}  // namespace

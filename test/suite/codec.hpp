// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/codec_support.hpp>
#include <suite/plain_executor.hpp>
#include <suite/values.hpp>

#include <pactrain/core/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

/// What every codec must do, on any executor: the wire's size and bounds of error by formula,
/// scales and random numbers that keep to their parameter, and zeros that stay zeros.
namespace pactrain::test::codec {

inline constexpr int rank_counts[] = {1, 2, 3, 4, 5, 7};

template <Executor E>
void wires_have_their_size() {
  E exec;
  for_calls([&]<class S>(auto codec, const Parts& parts) {
    for (const int ranks : {1, 2, 3, 4, 5, 7, 127, 128, 32767, 32768}) {
      const Coder<S, E, decltype(codec)> coder(exec, codec, parts, ranks);
      CHECK(coder.wire_bytes() == wire_size<S>(codec, parts, ranks));
    }
  });
}

template <Executor E>
void zeros_stay_zeros() {
  E exec;
  for_calls([&]<class S>(auto codec, const Parts& parts) {
    Coder<S, E, decltype(codec)> coder(exec, codec, parts);
    const std::size_t n = total(parts);
    for (const double zero : {0.0, -0.0}) {
      const auto decoded = coder.round_trip(std::vector<S>(n, value<S>(zero)));
      CHECK(same_bits(decoded, std::vector<arithmetic_t<S>>(n)));
    }
    if (!keeps_zeros(codec)) return;
    auto values = values_of<S>(0, n);
    for (std::size_t i = 0; i < n; i += 3) values[i] = S{};
    const auto decoded = coder.round_trip(values);
    for (std::size_t i = 0; i < n; i += 3) CHECK(decoded[i] == 0);
  });
}

/// The L2 norm of the values that share a scale with entry `at` of a part.
template <class S>
double norm_beside(const auto& codec, const std::vector<S>& values, const PackedPart& part,
                   std::size_t at) {
  const std::size_t block = block_of(codec), first = at / block * block;
  double squares = 0;
  for (std::size_t i = first; i < std::min(first + block, part.size); ++i) {
    squares += std::pow(number(values[part.first + i]), 2);
  }
  return std::sqrt(squares);
}

/// How far a decoded value may be from what was encoded.
template <class S, class Z>
double error_bound(const Z& codec, const std::vector<S>& values, const PackedPart& part,
                   std::size_t at) {
  const double x = number(values[part.first + at]), size = std::abs(x);
  if constexpr (std::same_as<Z, Identity>) {
    return 0;
  } else if constexpr (std::same_as<Z, Cast<float16>>) {
    return std::max(size * 0x1p-11, 0x1p-25);
  } else if constexpr (std::same_as<Z, Cast<bfloat16>>) {
    return std::max(size * 0x1p-8, 0x1p-134);
  } else if constexpr (std::same_as<Z, Natural>) {
    return std::max(size, 0x1p-126);
  } else {
    const double largest = largest_beside(codec, values, part, at);
    const double rounding = std::max(largest * 0x1p-21, 0x1p-149);
    if constexpr (std::same_as<Z, Int8>) return largest / 254 + rounding;
    if constexpr (std::same_as<Z, Int4>) {
      const double step = codec.scale > 0 ? 1 / codec.scale : largest / 8;
      return std::max({step / 2, x - 7 * step, -x - 8 * step}) + rounding;
    }
    if constexpr (std::same_as<Z, QSGD>) {
      // Squares of small doubles vanish; then another norm is taken.
      const double norm = std::max(norm_beside(codec, values, part, at), 1e-140);
      return norm * (1 + 0x1p-20) / static_cast<double>(codec.levels) + rounding;
    }
    if constexpr (std::same_as<Z, MinMax>) {
      const double step = 2 * largest / (std::pow(2.0, codec.bits) - 1);
      return (codec.stochastic ? step : step / 2) + rounding;
    }
    if constexpr (std::same_as<Z, UniformHomomorphic>) {
      return 2 * largest / static_cast<double>(codec.levels - 1) + rounding;
    }
    return std::max(size, largest - size) + rounding;
  }
}

template <Executor E>
void errors_are_bounded() {
  E exec;
  for_calls([&]<class S>(auto codec, const Parts& parts) {
    Coder<S, E, decltype(codec)> coder(exec, codec, parts, 1, {5, 6});
    const std::size_t n = total(parts);
    std::vector<std::vector<S>> inputs{values_of<S>(0, n)};
    // Constants, squares that underflow, the smallest of each type, and parts of one large value.
    for (const double x : {1.0, -0.37, 1e-30, -0x1p-149}) inputs.emplace_back(n, value<S>(x));
    inputs.emplace_back(n, std::bit_cast<S>(bits_t<S>{1}));
    inputs.emplace_back(n, value<S>(1e-3));
    for (const PackedPart& part : parts) {
      if (part.size > 0) inputs.back()[part.first + part.size / 2] = value<S>(100.0);
    }
    for (const auto& values : inputs) {
      const auto decoded = coder.round_trip(values);
      for (const PackedPart& part : parts) {
        for (std::size_t at = 0; at < part.size; ++at) {
          const double x = number(values[part.first + at]), y = number(decoded[part.first + at]);
          const bool same_side = x * y >= 0 || std::same_as<decltype(codec), MinMax>;
          if (std::abs(x - y) <= error_bound(codec, values, part, at) && same_side) continue;
          CAPTURE(x);
          CAPTURE(y);
          CAPTURE(at);
          FAIL_CHECK("out of bounds");
        }
      }
    }
  });
}

template <Executor E>
void what_is_representable_stays() {
  E exec;
  for_calls([&]<class S>(auto codec, const Parts& parts) {
    using Z = decltype(codec);
    if constexpr (!std::same_as<Z, Ternary>) {
      if (!is_idempotent(codec)) return;
      Coder<S, E, Z> coder(exec, codec, parts);
      const auto wire = coder.encode(values_of<S>(3, total(parts)));
      const auto decoded = coder.decode(wire);
      Coder<arithmetic_t<S>, E, Z> again(exec, codec, parts);
      CHECK(again.encode(decoded) == wire);
      CHECK(same_bits(again.decode(wire), decoded));
    }
  });
}

template <Executor E>
void wires_may_lie_anywhere() {
  E exec;
  for_calls([&]<class S>(auto codec, const Parts& parts) {
    if constexpr (!decltype(codec)::additive) {
      Coder<S, E, decltype(codec)> coder(exec, codec, parts);
      const auto wire = coder.encode(values_of<S>(0, total(parts)));
      CHECK(same_bits(coder.decode(wire, 3), coder.decode(wire)));
    }
  });
}

/// A part alone, and other values elsewhere, give a part's bytes as the whole call does.
template <Executor E>
void parts_keep_to_themselves() {
  E exec;
  for_codecs([&]<class S>(auto codec) {
    using Z = decltype(codec);
    const Parts parts = parts_of(layouts().back());
    const std::size_t n = total(parts);
    const Random random{1, 2};
    Coder<S, E, Z> coder(exec, codec, parts, 4, random);
    const auto values = values_of<S>(0, n);
    const auto bounds = coder.bounds(values);
    coder.agree(bounds);
    const auto wire = coder.encode(values);

    std::size_t scales_before = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      CAPTURE(i);
      const auto own = bytes_of<S>(codec, parts, i, 4, wire);
      const auto from = static_cast<std::ptrdiff_t>(parts[i].first);
      const auto to = from + static_cast<std::ptrdiff_t>(parts[i].size);

      auto others = values;
      for (std::size_t j = 0; j < n; ++j) {
        if (j < parts[i].first || j >= parts[i].first + parts[i].size) {
          others[j] = value<S>(number(others[j]) * 37.0);
        }
      }
      const auto their_bounds = coder.bounds(others);
      coder.agree(their_bounds);
      CHECK(bytes_of<S>(codec, parts, i, 4, coder.encode(others)) == own);

      Coder<S, E, Z> alone(exec, codec, {{parts[i].part, 0, parts[i].size}}, 4, random);
      const std::vector<S> part(values.begin() + from, values.begin() + to);
      const auto own_bounds = alone.bounds(part);
      for (std::size_t s = 0; s < own_bounds.size(); ++s) {
        CHECK(own_bounds[s] == bounds[scales_before + s]);
        CHECK(own_bounds[s] == their_bounds[scales_before + s]);
      }
      scales_before += own_bounds.size();
      alone.agree(own_bounds);
      CHECK(alone.encode(part) == own);
    }
    CHECK(scales_before == bounds.size());
  });
}

/// Cutting a model into calls in another order changes nothing either.
template <Executor E>
void calls_may_hold_any_parts() {
  E exec;
  for_codecs([&]<class S>(auto codec) {
    using Z = decltype(codec);
    const Parts parts = parts_of({100, 70, 33});
    const auto values = values_of<S>(0, total(parts));
    Coder<S, E, Z> whole(exec, codec, parts, 3, {8, 9});
    whole.agree(whole.bounds(values));
    const auto wire = whole.encode(values);

    const Parts turned{{2, 0, 33}, {0, 33, 100}};
    std::vector<S> some(values.begin() + 170, values.end());
    some.insert(some.end(), values.begin(), values.begin() + 100);
    Coder<S, E, Z> two(exec, codec, turned, 3, {8, 9});
    two.agree(two.bounds(some));
    const auto turned_wire = two.encode(some);
    CHECK(bytes_of<S>(codec, turned, 0, 3, turned_wire) == bytes_of<S>(codec, parts, 2, 3, wire));
    CHECK(bytes_of<S>(codec, turned, 1, 3, turned_wire) == bytes_of<S>(codec, parts, 0, 3, wire));
  });
}

/// Every digit against the rule, with numbers by parameter and index.
template <Executor E>
void digits_follow_the_rule() {
  E exec;
  for_calls([&]<class S>(auto codec, const Parts& parts) {
    using A = arithmetic_t<S>;
    if constexpr (std::same_as<decltype(codec), Ternary>) {
      for (const int ranks : {1, 200, 40000}) {
        const Random random{std::uint64_t{77} << 40, 3};
        Coder<S, E, Ternary> coder(exec, codec, parts, ranks, random);
        const auto values = values_of<S>(1, total(parts));
        const auto bounds = coder.bounds(values);
        coder.agree(bounds);
        const auto decoded = coder.decode(coder.encode(values));
        std::size_t scales_before = 0;
        for (const PackedPart& part : parts) {
          for (std::size_t at = 0; at < part.size; ++at) {
            const std::size_t scale = codec.block == 0 ? 0 : at / codec.block;
            const A bound = static_cast<A>(bounds[scales_before + scale]);
            const float u = uniform(random_words(random, part.part, at / 4)[at % 4]);
            const auto x = static_cast<A>(values[part.first + at]);
            CHECK(decoded[part.first + at] == static_cast<A>(ternary_digit(x, bound, u)) * bound);
          }
          scales_before += scales_in(codec, part.size);
        }
      }
    }
  });
}

template <Executor E>
void bounds_are_not_below() {
  E exec;
  for_calls([&]<class S>(auto codec, const Parts& parts) {
    if constexpr (std::same_as<decltype(codec), Ternary>) {
      Coder<S, E, Ternary> coder(exec, codec, parts);
      auto values = values_of<S>(2, total(parts));
      if constexpr (std::same_as<S, double>) {
        for (double& x : values) x *= 1 + 0x1p-40;  // no floats
      }
      const auto bounds = coder.bounds(values);
      std::size_t s = 0;
      for (const PackedPart& part : parts) {
        const std::size_t block = codec.block == 0 ? part.size : codec.block;
        for (std::size_t first = 0; first < part.size; first += block, ++s) {
          double largest = largest_beside(codec, values, part, first), squares = 0;
          const std::size_t count = std::min(block, part.size - first);
          for (std::size_t i = 0; i < count; ++i) {
            squares += std::pow(number(values[part.first + first + i]), 2);
          }
          const double cut = codec.clip * std::sqrt(squares / static_cast<double>(count));
          const bool clipped = codec.clip > 0 && cut < largest;
          if (clipped) largest = cut;
          CHECK(double{bounds[s]} >= largest * (clipped ? 1 - 0x1p-40 : 1));
          CHECK(double{bounds[s]} <= largest * (1 + 0x1p-22));
        }
      }
      CHECK(s == bounds.size());
    }
  });
}

/// Integer wires hold the sum over all ranks, whatever the order they are added in.
template <class W>
void check_extremes(auto& exec, int ranks) {
  using E = std::remove_reference_t<decltype(exec)>;
  const auto extreme = static_cast<float>(ranks);
  Coder<float, E, Ternary> coder(exec, Ternary{}, parts_of({2}), ranks);
  const std::vector<float> values{3.0f, -3.0f};
  coder.agree(coder.bounds(values));
  const Bytes one = coder.encode(values);
  REQUIRE(one.size() == 2 * sizeof(W));
  W digits[2];
  std::memcpy(digits, one.data(), one.size());
  for (W& digit : digits) digit = static_cast<W>(digit * static_cast<W>(ranks));
  Bytes sum(one.size());
  std::memcpy(sum.data(), digits, sum.size());
  CHECK(coder.decode(sum) == std::vector<float>{extreme * 3.0f, -extreme * 3.0f});
}
template <Executor E>
void integers_hold_the_sum() {
  E exec;
  for (const int ranks : {1, 2, 127}) check_extremes<std::int8_t>(exec, ranks);
  for (const int ranks : {128, 32767}) check_extremes<std::int16_t>(exec, ranks);
  for (const int ranks : {32768, 1 << 20}) check_extremes<std::int32_t>(exec, ranks);
}

/// Bytes of `W` added up.
template <class W>
Bytes added(const std::vector<Bytes>& wires) {
  Bytes sum = wires[0];
  for (std::size_t r = 1; r < wires.size(); ++r) {
    for (std::size_t i = 0; i < sum.size(); i += sizeof(W)) {
      W a, b;
      std::memcpy(&a, sum.data() + i, sizeof(W));
      std::memcpy(&b, wires[r].data() + i, sizeof(W));
      a = static_cast<W>(a + b);
      std::memcpy(sum.data() + i, &a, sizeof(W));
    }
  }
  return sum;
}

/// The decoded sum of ranks is the sum of what the ranks conveyed, and within the codec's bounds.
template <Executor E>
void ranks_add_up() {
  E exec;
  for_codecs([&]<class S>(auto codec) {
    using Z = decltype(codec);
    using A = arithmetic_t<S>;
    const Parts parts = parts_of({130, 1, 20});
    const std::size_t n = total(parts);
    for (const int ranks : rank_counts) {
      CAPTURE(ranks);
      std::vector<std::vector<S>> values;
      std::vector<float> agreed;
      for (int r = 0; r < ranks; ++r) {
        values.push_back(values_of<S>(r, n));
        Coder<S, E, Z> coder(exec, codec, parts, ranks);
        const auto bounds = coder.bounds(values.back());
        agreed.resize(bounds.size());
        for (std::size_t i = 0; i < bounds.size(); ++i) agreed[i] = std::max(agreed[i], bounds[i]);
      }
      std::vector<Bytes> wires;
      std::vector<double> conveyed(n), most(n);
      for (int r = 0; r < ranks; ++r) {
        Coder<S, E, Z> coder(exec, codec, parts, ranks, {std::uint64_t(r), 4});
        coder.agree(agreed);
        wires.push_back(coder.encode(values[static_cast<std::size_t>(r)]));
        const auto own = coder.decode(wires.back());
        for (std::size_t i = 0; i < n; ++i) conveyed[i] += number(own[i]);
        for (std::size_t i = 0; i < n; ++i) most[i] += std::abs(number(own[i]));
      }
      Coder<S, E, Z> coder(exec, codec, parts, ranks);
      coder.agree(agreed);
      std::vector<A> sum(n);
      if constexpr (std::same_as<Z, Ternary>) {
        sum = coder.decode(added<std::int8_t>(wires));
        std::vector<Bytes> turned(wires.rbegin(), wires.rend());
        CHECK(same_bits(coder.decode(added<std::int8_t>(turned)), sum));
      } else {
        for (const Bytes& wire : wires) coder.decode_add(wire, sum);
      }
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(std::abs(number(sum[i]) - conveyed[i]) <= most[i] * 0x1p-20);
      }
    }
  });
}

/// The mean over draws is the value. A sum of `draws` digits strays from its mean by more than
/// `draws * epsilon` with probability at most 2 exp(-2 draws epsilon^2) (Hoeffding).
template <Executor E>
void draws_are_unbiased() {
  E exec;
  constexpr std::size_t n = 16;
  constexpr int draws = 20000;
  for_gradient_types([&]<class S>() {
    std::vector<S> values(n);
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = value<S>((i % 2 != 0 ? -0.1 : 0.1) * static_cast<double>(i));
    }
    Coder<S, E, Ternary> coder(exec, Ternary{}, parts_of({n}), 4);
    coder.agree({1.6f});
    std::vector<double> sum(n);
    for (int draw = 0; draw < draws; ++draw) {
      coder.draw({42, static_cast<Step>(draw)});
      const Bytes wire = coder.encode(values);
      for (std::size_t i = 0; i < n; ++i) {
        sum[i] += static_cast<double>(static_cast<std::int8_t>(wire[i]));
      }
    }
    const double epsilon = std::sqrt(std::log(2 * 4 * n * 1e6) / (2.0 * draws));
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(std::abs(sum[i] / draws - number(values[i]) / 1.6) <= epsilon);
    }
  });
}

/// Draws differ between seeds, steps and parameters, and are the same for the same three.
template <Executor E>
void draws_have_their_key() {
  E exec;
  const std::vector<float> half(1000, 0.5f);
  const auto draw = [&](Random random, std::size_t part) {
    Coder<float, E, Ternary> coder(exec, Ternary{}, {{part, 0, half.size()}}, 4, random);
    coder.agree({1.0f});
    return coder.encode(half);
  };
  const Bytes base = draw({1, 1}, 1);
  CHECK(draw({1, 1}, 1) == base);
  const std::uint64_t high = std::uint64_t{1} << 32;
  for (const Bytes& other : {draw({2, 1}, 1), draw({1 + high, 1}, 1), draw({1, 2}, 1),
                             draw({1, 1 + high}, 1), draw({1, 1}, 2)}) {
    const double equal = static_cast<double>(std::inner_product(
        base.begin(), base.end(), other.begin(), 0, std::plus<>(), std::equal_to<>()));
    CHECK(std::abs(equal - 500) < 100);  // 6 sigma
  }
}

/// A NaN or an infinity reaches the values that share a scale with it, or counts as zero; never
/// another value, never a digit.
template <Executor E>
void what_is_not_finite_stays_in_place() {
  E exec;
  for_codecs([&]<class S>(auto codec) {
    using Z = decltype(codec);
    const Parts parts = parts_of({40, 600, 1});
    const std::size_t n = total(parts);
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity()}) {
      for (const std::size_t at : {std::size_t{5}, std::size_t{300}, n - 1}) {
        auto clean = values_of<S>(0, n);
        clean[at] = S{};
        auto values = clean;
        values[at] = value<S>(bad);
        Coder<S, E, Z> coder(exec, codec, parts, 2, {3, 4});
        const auto expected = coder.round_trip(clean);
        const auto decoded = coder.round_trip(values);
        for (std::size_t i = 0; i < n; ++i) {
          bool reached =
              i == at && !std::same_as<Z, Ternary> && !std::same_as<Z, UniformHomomorphic>;
          if constexpr (ByBlock<Z>) {
            const std::size_t block = std::same_as<Z, Natural> ? 1 : layout_of(codec).block;
            reached = false;
            for (const PackedPart& part : parts) {
              if (at < part.first || at >= part.first + part.size) continue;
              if (i < part.first || i >= part.first + part.size) continue;
              reached = block == 0 || (i - part.first) / block == (at - part.first) / block;
            }
            if constexpr (std::same_as<Z, Int4>) reached = reached && codec.scale == 0;
            CHECK(std::isnan(decoded[i]) == reached);
          } else if (reached) {
            CHECK(!std::isfinite(decoded[i]));
            CHECK(std::isnan(decoded[i]) == std::isnan(bad));
          }
          if (!reached) CHECK(decoded[i] == expected[i]);
        }
      }
    }
  });
}

/// The same bytes as an executor that runs everything the other way round.
template <Executor E>
void order_does_not_matter() {
  E exec;
  PlainExecutor plain;
  for_codecs([&]<class S>(auto codec) {
    using Z = decltype(codec);
    const Parts parts = parts_of({20000, 5, 3000});
    const auto values = values_of<S>(0, total(parts));
    Coder<S, E, Z> one(exec, codec, parts, 4, {1, 2});
    Coder<S, PlainExecutor, Z> two(plain, codec, parts, 4, {1, 2});
    CHECK(same_bits(one.bounds(values), two.bounds(values)));
    one.agree(one.bounds(values));
    two.agree(two.bounds(values));
    const Bytes wire = one.encode(values);
    CHECK(wire == two.encode(values));
    CHECK(same_bits(one.decode(wire), two.decode(wire)));
  });
}

TEST_CASE_TEMPLATE_DEFINE("codec", E, codec_suite) {
  SUBCASE("wires have their size") { wires_have_their_size<E>(); }
  SUBCASE("zeros stay zeros") { zeros_stay_zeros<E>(); }
  SUBCASE("errors are bounded") { errors_are_bounded<E>(); }
  SUBCASE("what is representable stays") { what_is_representable_stays<E>(); }
  SUBCASE("wires may lie anywhere") { wires_may_lie_anywhere<E>(); }
  SUBCASE("parts keep to themselves") { parts_keep_to_themselves<E>(); }
  SUBCASE("calls may hold any parts") { calls_may_hold_any_parts<E>(); }
  SUBCASE("digits follow the rule") { digits_follow_the_rule<E>(); }
  SUBCASE("bounds are not below") { bounds_are_not_below<E>(); }
  SUBCASE("integers hold the sum") { integers_hold_the_sum<E>(); }
  SUBCASE("ranks add up") { ranks_add_up<E>(); }
  SUBCASE("draws are unbiased") { draws_are_unbiased<E>(); }
  SUBCASE("draws have their key") { draws_have_their_key<E>(); }
  SUBCASE("what is not finite stays in place") { what_is_not_finite_stays_in_place<E>(); }
  SUBCASE("order does not matter") { order_does_not_matter<E>(); }
}

}  // namespace pactrain::test::codec

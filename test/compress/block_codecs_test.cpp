// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/codec_support.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/compress/int4.hpp>
#include <pactrain/compress/min_max.hpp>
#include <pactrain/compress/natural.hpp>
#include <pactrain/compress/qsgd.hpp>
#include <pactrain/compress/sign.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/kernel/codes.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::codec;

namespace {

using Floats = std::vector<float>;

template <class Z, class S = float>
struct Host {
  HostExecutor exec;
  Coder<S, HostExecutor, Z> coder;
  Host(const Z& codec, std::size_t n, Random random = {})
      : coder(exec, codec, parts_of({n}), 1, random) {}
};
template <class Z>
Floats round_trip(const Z& codec, const Floats& x) {
  return Host<Z>(codec, x.size()).coder.round_trip(x);
}
std::vector<int> bytes(const Bytes& wire, std::size_t from = 0) {
  std::vector<int> all;
  for (std::size_t i = from; i < wire.size(); ++i) all.push_back(static_cast<int>(wire[i]));
  return all;
}
template <class Z>
bool refused(const Z& codec, const std::string& why) {
  const std::string message =
      message_of<PreconditionError>([&] { typename Z::template on<HostExecutor> on(codec); });
  return message.find(why) != std::string::npos;
}

/// The mean and the mean square error of what one value becomes, over the entries that hold it.
struct Spread {
  double mean = 0, square = 0;
};
template <class Z>
Spread spread(const Z& codec, const Floats& pattern, std::size_t at, std::size_t draws) {
  Floats x;
  for (std::size_t i = 0; i < draws; ++i) x.insert(x.end(), pattern.begin(), pattern.end());
  Host<Z> host(codec, x.size(), {11, 3});
  const Floats y = host.coder.round_trip(x);
  Spread s;
  for (std::size_t i = 0; i < draws; ++i) {
    const double value = double{y[i * pattern.size() + at]};
    s.mean += value / double(draws);
    s.square += std::pow(value - double{pattern[at]}, 2) / double(draws);
  }
  return s;
}
/// Hoeffding: the mean of draws in a range this wide is not this far off, but once in 10^7.
double tolerance(double range, std::size_t draws) {
  return range * std::sqrt(std::log(2e7) / (2.0 * double(draws)));
}

TEST_CASE("codes of any width follow each other, little end first") {
  for (unsigned bits = 1; bits <= 16; ++bits) {
    std::vector<std::byte> out(2 * 37 + 1, std::byte{0xa5});
    kernel::CodeWriter writer(out.data());
    for (std::uint32_t i = 0; i < 37; ++i) writer.put(i * 40503u & ((1u << bits) - 1), bits);
    writer.finish();
    const std::size_t size = kernel::code_bytes(37, bits);
    CHECK(size == (37 * bits + 7) / 8);
    CHECK(out[size] == std::byte{0xa5});
    CHECK((static_cast<unsigned>(out[size - 1]) >> (37 * bits - 1) % 8) <= 1);  // padded with zeros
    kernel::CodeReader reader(out.data());
    for (std::uint32_t i = 0; i < 37; ++i) {
      CHECK(reader.get(bits) == (i * 40503u & ((1u << bits) - 1)));
    }
  }
}

TEST_CASE("Int4: nibbles, and the worked numbers of LoCo") {
  Host<Int4> fixed(Int4{.scale = 8}, 4);
  CHECK(bytes(fixed.coder.encode({.25f, -.25f, 0, .875f})) == std::vector<int>{0xe2, 0x70});
  Floats all;
  for (int q = -8; q <= 7; ++q) all.push_back(static_cast<float>(q) / 8);
  CHECK(round_trip(Int4{.scale = 8}, all) == all);
  all.push_back(-1);  // an odd one, padded
  Host<Int4> odd(Int4{.scale = 8}, 17);
  CHECK(bytes(odd.coder.encode(all)).back() == 0x08);
  CHECK(odd.coder.round_trip(all) == all);

  const Floats x{.30f, -.20f, .05f, 1.50f};
  CHECK(round_trip(Int4{}, x) == Floats{.375f, -.1875f, 0, 1.3125f});
  CHECK(bytes(Host<Int4>(Int4{}, 4).coder.encode(x), 4) == std::vector<int>{0xf2, 0x70});
  CHECK(round_trip(Int4{}, {-3, 1, 3}) == Floats{-3, 1.125f, 2.625f});
  CHECK(round_trip(Int4{}, {0, 0, 0}) == Floats{0, 0, 0});
}

TEST_CASE("Int4: ties go to even, and what is beyond is cut") {
  CHECK(round_trip(Int4{.scale = 1}, {.5f, 1.5f, 2.5f, -.5f, -1.5f, 6.5f, 7.5f, 8, -8.5f, 1e30f}) ==
        Floats{0, 2, 2, 0, -2, 6, 7, 7, -8, 7});
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(round_trip(Int4{.scale = 1}, {std::nanf(""), inf, -inf, 3}) == Floats{0, 0, 0, 3});
  const Floats damaged = round_trip(Int4{.block = 2}, {1, -2, inf, 3});
  CHECK(damaged[1] == -2);
  CHECK(std::isnan(damaged[2]));
  CHECK(std::isnan(damaged[3]));
}

TEST_CASE("Sign: the worked numbers of EF-signSGD") {
  const Floats p{1, -2, 3};
  const Floats out = round_trip(Sign{}, p);
  CHECK(out == Floats{2, -2, 2});
  double missed = 0, energy = 0;
  for (std::size_t i = 0; i < 3; ++i) missed += std::pow(p[i] - out[i], 2);
  for (const float x : p) energy += double{x} * double{x};
  CHECK(1 - missed / energy == doctest::Approx(.857).epsilon(1e-3));
  CHECK(bytes(Host<Sign>(Sign{}, 3).coder.encode(p), 4) == std::vector<int>{2});
}

TEST_CASE("Sign: a block loses exactly its energy less L1^2 / n") {
  for (const std::size_t block : {std::size_t{0}, std::size_t{64}, std::size_t{9000}}) {
    const std::size_t n = 10000;
    Floats x = values_of<float>(0, n);
    const Floats y = round_trip(Sign{.block = block}, x);
    const std::size_t length = block == 0 ? n : block;
    for (std::size_t first = 0; first < n; first += length) {
      const std::size_t last = std::min(first + length, n);
      double l1 = 0, l2 = 0, missed = 0;
      for (std::size_t i = first; i < last; ++i) {
        l1 += std::abs(double{x[i]});
        l2 += double{x[i]} * double{x[i]};
        missed += std::pow(double{x[i]} - double{y[i]}, 2);
        CHECK(std::signbit(y[i]) == (x[i] < 0));
      }
      CHECK(missed == doctest::Approx(l2 - l1 * l1 / double(last - first)).epsilon(1e-6));
    }
  }
}

TEST_CASE("Sign: zeros, means of either side, and one side alone") {
  CHECK(round_trip(Sign{}, {4, 0, -0.0f, -4}) == Floats{2, 2, 2, -2});
  CHECK(round_trip(Sign{.zeros = true}, {4, 0, -0.0f, -2}) == Floats{3, 0, 0, -3});
  CHECK(round_trip(Sign{.two_means = true}, {1, 3, 0, -6, -2}) ==
        Floats{4.0f / 3, 4.0f / 3, 4.0f / 3, -4, -4});
  CHECK(round_trip(Sign{.two_means = true, .zeros = true}, {1, 3, 0, -6, -2}) ==
        Floats{2, 2, 0, -4, -4});
  CHECK(round_trip(Sign{.two_means = true}, {-1, -3}) == Floats{-2, -2});
  CHECK(round_trip(Sign{.two_means = true}, {1, 3}) == Floats{2, 2});
  for (const bool two_means : {false, true}) {
    CHECK(round_trip(Sign{.two_means = two_means}, Floats(70)) == Floats(70));
    const Floats damaged = round_trip(Sign{.block = 3, .two_means = two_means, .zeros = true},
                                      {1, 0, std::nanf(""), 5, 5, 0});
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::isnan(damaged[i]));
    CHECK(damaged[3] == 5);
    CHECK(damaged[5] == 0);
  }
}

TEST_CASE("QSGD: the worked numbers") {
  constexpr std::size_t draws = 40000;
  const QSGD codec{.levels = 4, .block = 2};
  const Spread three = spread(codec, {3, 4}, 0, draws), four = spread(codec, {3, 4}, 1, draws);
  // Levels 2.4 and 3.2 of a norm of 5.
  CHECK(std::abs(three.mean - 3) < tolerance(1.25, draws));
  CHECK(std::abs(four.mean - 4) < tolerance(1.25, draws));
  CHECK(std::abs((three.square + four.square) / .625 - 1) < .02);
  CHECK(round_trip(QSGD{.levels = 4}, {0, 0}) == Floats{0, 0});
  CHECK(round_trip(QSGD{.levels = 1}, {0, -7, 0}) == Floats{0, -7, 0});
  // By the largest magnitude the steps are smaller.
  const Spread finer = spread(QSGD{.levels = 4, .block = 2, .by_maximum = true}, {3, 4}, 0, draws);
  CHECK(std::abs(finer.mean - 3) < tolerance(1, draws));
  CHECK(finer.square < 1e-12);  // 3 is a step
}

TEST_CASE("QSGD: the square error is within its bound") {
  constexpr std::size_t n = 64, draws = 500;
  const Floats x = values_of<float>(0, n);
  double energy = 0;
  for (const float v : x) energy += double{v} * double{v};
  for (const std::size_t levels : {1u, 3u, 7u, 20u}) {
    Floats repeated;
    for (std::size_t i = 0; i < draws; ++i) repeated.insert(repeated.end(), x.begin(), x.end());
    const Floats y = round_trip(QSGD{.levels = levels, .block = n}, repeated);
    double error = 0, exact = 0;
    for (std::size_t i = 0; i < y.size(); ++i) error += std::pow(y[i] - repeated[i], 2) / draws;
    for (const float v : x) {  // the variance of rounding level l is frac (1 - frac) steps^2
      const double l = std::abs(double{v}) / std::sqrt(energy) * double(levels);
      exact += (l - std::floor(l)) * (1 - l + std::floor(l)) * energy / double(levels * levels);
    }
    CHECK(error == doctest::Approx(exact).epsilon(.1));
    const auto s = double(levels);
    CHECK(exact <= std::min(double(n) / (s * s), std::sqrt(double(n)) / s) * energy);
  }
}

TEST_CASE("Natural: the worked numbers") {
  constexpr std::size_t draws = 40000;
  const Spread s = spread(Natural{}, {2.5f}, 0, draws);
  CHECK(std::abs(s.mean - 2.5) < tolerance(2, draws));
  CHECK(std::abs(s.square / .75 - 1) < .03);
  // The worst case: an eighth of the square.
  const Spread worst = spread(Natural{}, {-4.0f / 3}, 0, draws);
  CHECK(std::abs(worst.mean + 4.0 / 3) < tolerance(1, draws));
  CHECK(std::abs(worst.square / (16.0 / 9 / 8) - 1) < .03);
  // Below the least power the rounding is unbiased, too.
  const Spread tiny = spread(Natural{}, {0x1p-128f}, 0, draws);
  CHECK(std::abs(tiny.mean / 0x1p-128 - 1) < tolerance(4, draws));
}

TEST_CASE("Natural: powers stay, and the ends of the range") {
  const float most = std::numeric_limits<float>::max(), inf = most * 2;
  CHECK(round_trip(Natural{}, {1, -0.5f, 0, -0.0f, 0x1p127f, 0x1p-126f, most, -most}) ==
        Floats{1, -0.5f, 0, 0, 0x1p127f, 0x1p-126f, 0x1p127f, -0x1p127f});
  CHECK(std::isnan(round_trip(Natural{}, {inf})[0]));
  CHECK(std::isnan(round_trip(Natural{}, {std::nanf("")})[0]));
  Host<Natural, double> host(Natural{}, 3);
  CHECK(host.coder.wire_bytes() == 4);  // 27 bits
  CHECK(host.coder.round_trip({1e300, -1e-300, -2}) == std::vector<double>{0x1p127, 0, -2});
}

TEST_CASE("MinMax: the worked numbers of CGX") {
  const Floats x{-1, 0, 1, 2};
  Host<MinMax> host(MinMax{.bits = 2}, 4);
  float numbers[2];
  const Bytes wire = host.coder.encode(x);
  std::memcpy(numbers, wire.data(), sizeof numbers);
  CHECK(numbers[0] == 1);
  CHECK(numbers[1] == -1);
  CHECK(bytes(wire, 8) == std::vector<int>{0xe4});  // 0, 1, 2, 3 from the low end
  CHECK(host.coder.decode(wire) == x);
  CHECK(round_trip(MinMax{}, {.3f, .3f, .3f}) == Floats{.3f, .3f, .3f});
  CHECK(round_trip(MinMax{.bits = 1}, {0, .49f, .51f, 1}) == Floats{0, 0, 1, 1});

  const auto size = [](const MinMax& codec) {
    return Host<MinMax>(codec, 1000000).coder.wire_bytes();
  };
  CHECK(size({.bits = 4, .block = 512}) == 515632);
  CHECK(size({.bits = 4, .block = 128}) == 562504);
  for (unsigned bits = 1; bits <= 8; ++bits) CHECK(size({.bits = bits}) == 15632 + 125000 * bits);
}

TEST_CASE("MinMax: rounding by chance is unbiased") {
  constexpr std::size_t draws = 20000;
  const MinMax codec{.bits = 2, .block = 4, .stochastic = true};
  const Floats x{-1, .25f, 1.5f, 2};
  for (std::size_t at = 0; at < 4; ++at) {
    const Spread s = spread(codec, x, at, draws);
    CHECK(std::abs(s.mean - double{x[at]}) < tolerance(1, draws));
    const double rest = double{x[at]} - std::floor(double{x[at]});
    CHECK(std::abs(s.square - rest * (1 - rest)) < .005);
  }
}

TEST_CASE("MinMax: a value that is not finite takes its block along") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {inf, -inf, std::nanf("")}) {
    for (std::size_t at = 0; at < 3; ++at) {
      Floats x{1, 2, 3, 4};
      x[at] = bad;
      const Floats y = round_trip(MinMax{.block = 3}, x);
      for (std::size_t i = 0; i < 3; ++i) CHECK(std::isnan(y[i]));
      CHECK(y[3] == 4);
    }
  }
}

TEST_CASE("options are checked, and told apart") {
  CHECK(refused(Int4{.block = 0}, "a block of Int4 is empty"));
  CHECK(refused(Int4{.scale = -1}, "the scale of Int4 is -1"));
  CHECK(refused(Int4{.scale = std::nan("")}, "the scale of Int4 is nan"));
  CHECK(refused(QSGD{.levels = 0}, "QSGD has 0 levels"));
  CHECK(refused(QSGD{.levels = 32768}, "QSGD has 32768 levels"));
  CHECK(refused(QSGD{.block = 0}, "a block of QSGD is empty"));
  CHECK(refused(MinMax{.bits = 0}, "MinMax has 0 bits"));
  CHECK(refused(MinMax{.bits = 9}, "MinMax has 9 bits"));
  CHECK(refused(MinMax{.block = 0}, "a block of MinMax is empty"));
  CHECK(Int4{}.fingerprint() != Int4{.scale = 2}.fingerprint());
  CHECK(Int4{}.fingerprint() != Int4{.block = 64}.fingerprint());
  CHECK(Sign{}.fingerprint() != Sign{.block = 64}.fingerprint());
  CHECK(Sign{.two_means = true}.fingerprint() != Sign{.zeros = true}.fingerprint());
  CHECK(QSGD{}.fingerprint() != QSGD{.levels = 3}.fingerprint());
  CHECK(QSGD{}.fingerprint() != QSGD{.block = 64}.fingerprint());
  CHECK(QSGD{}.fingerprint() != QSGD{.by_maximum = true}.fingerprint());
  CHECK(MinMax{}.fingerprint() != MinMax{.bits = 3}.fingerprint());
  CHECK(MinMax{}.fingerprint() != MinMax{.block = 64}.fingerprint());
  CHECK(MinMax{}.fingerprint() != MinMax{.stochastic = true}.fingerprint());
}

}  // namespace

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/codec_support.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/compress/ternary.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/host/executor.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::codec;

namespace {

const std::vector<float> g0{.8f, -.4f, .05f, 0}, g1{.2f, -.8f, .15f, .4f};

template <class S>
using HostTernary = Coder<S, HostExecutor, Ternary>;

std::vector<int> digits(const std::vector<float>& x, float scale, const std::vector<float>& u) {
  std::vector<int> t(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) t[i] = ternary_digit(x[i], scale, u[i]);
  return t;
}

TEST_CASE("two ranks with a shared scale: the worked numbers") {
  HostExecutor exec;
  const Parts parts = parts_of({4});
  HostTernary<float> coder(exec, Ternary{}, parts, 2);
  CHECK(coder.bounds(g0) == std::vector<float>{.8f});
  CHECK(coder.bounds(g1) == std::vector<float>{.8f});
  coder.agree({.8f});

  const auto t0 = digits(g0, .8f, {.5f, .3f, .9f, .5f});
  const auto t1 = digits(g1, .8f, {.1f, .9f, .1f, .6f});
  CHECK(t0 == std::vector<int>{1, -1, 0, 0});
  CHECK(t1 == std::vector<int>{1, -1, 1, 0});

  Bytes sum(4);
  for (std::size_t i = 0; i < 4; ++i) sum[i] = static_cast<std::byte>(t0[i] + t1[i]);
  std::vector<float> mean = coder.decode(sum);
  for (float& x : mean) x /= 2;
  CHECK(mean == std::vector<float>{.8f, -.8f, .4f, 0});
}

TEST_CASE("many draws average to the mean of the ranks") {
  HostExecutor exec;
  HostTernary<float> coder(exec, Ternary{}, parts_of({4}), 2);
  coder.agree({.8f});
  constexpr int draws = 200000;
  std::vector<float> sum(4);
  for (int draw = 0; draw < draws; ++draw) {
    coder.draw({1, static_cast<Step>(draw)});
    coder.decode_add(coder.encode(g0), sum);
    coder.draw({2, static_cast<Step>(draw)});
    coder.decode_add(coder.encode(g1), sum);
  }
  // Hoeffding: 2 draws in [0, .8] each, four entries, wrong by chance once in a million.
  const double epsilon = .8 * std::sqrt(std::log(2 * 4 * 1e6) / (2.0 * 2 * draws));
  const double mean[] = {.5, -.6, .1, .2};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(std::abs(double{sum[i]} / (2 * draws) - mean[i]) < epsilon + 1e-4);
  }
}

TEST_CASE("digits at the edges") {
  const float below_one = 1 - 0x1p-24f;
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(ternary_digit(2.0f, 2.0f, below_one) == 1);
  CHECK(ternary_digit(-2.0f, 2.0f, below_one) == -1);
  CHECK(ternary_digit(-3.0f, 2.0f, below_one) == -1);  // cut
  CHECK(ternary_digit(1.0f, 2.0f, 0.5f) == 0);
  CHECK(ternary_digit(1.0f, 2.0f, 0.4999f) == 1);
  CHECK(ternary_digit(0.0f, 2.0f, 0.0f) == 0);
  CHECK(ternary_digit(-0.0f, 2.0f, 0.0f) == 0);
  CHECK(ternary_digit(0.0f, 0.0f, 0.0f) == 0);
  CHECK(ternary_digit(inf, 2.0f, 0.0f) == 0);
  CHECK(ternary_digit(-inf, 2.0f, 0.0f) == 0);
  CHECK(ternary_digit(std::nanf(""), 2.0f, 0.0f) == 0);
  CHECK(ternary_digit(0x1p-149f, 0x1p-149f, below_one) == 1);
  CHECK(ternary_digit(1e300, 1e300, below_one) == 1);
}

TEST_CASE("scales of doubles are floats that are not below") {
  HostExecutor exec;
  HostTernary<double> coder(exec, Ternary{}, parts_of({1, 1, 1, 1, 1}));
  const float largest = std::numeric_limits<float>::max();
  const auto bounds = coder.bounds({1 + 0x1p-50, 1e-300, -1e300, 0.25, 0.0});
  CHECK(bounds == std::vector<float>{1 + 0x1p-23f, 0x1p-149f, largest, 0.25f, 0});
  // What is beyond the largest float is cut to it.
  coder.agree(bounds);
  CHECK(coder.decode(coder.encode({0, 0, -1e300, 0, 0}))[2] == -double{largest});
}

TEST_CASE("clipping goes by the root mean square of kept values") {
  HostExecutor exec;
  HostTernary<float> coder(exec, Ternary{.clip = 2}, parts_of({100, 3, 1}));
  std::vector<float> values(104, 1.0f);
  values[50] = 20;  // root mean square: sqrt(499 / 100)
  values[101] = -1;
  values[103] = -1e-30f;
  const auto bounds = coder.bounds(values);
  CHECK(bounds[0] == doctest::Approx(2 * std::sqrt(4.99)));
  CHECK(bounds[1] == 1);       // parts of one magnitude are not cut
  CHECK(bounds[2] == 1e-30f);  // nor is a part of one value
  coder.agree(bounds);
  CHECK(coder.decode(coder.encode(values))[50] == bounds[0]);
}

TEST_CASE("wires widen with the ranks") {
  const Ternary::on<HostExecutor> codec{Ternary{}};
  CHECK(codec.wire_type<float>(1) == ValueType::int8);
  CHECK(codec.wire_type<float>(127) == ValueType::int8);
  CHECK(codec.wire_type<float>(128) == ValueType::int16);
  CHECK(codec.wire_type<float>(32767) == ValueType::int16);
  CHECK(codec.wire_type<float>(32768) == ValueType::int32);
}

TEST_CASE("thousands of parameters in one call") {
  HostExecutor exec;
  const Parts parts = parts_of(std::vector<std::size_t>(5000, 2));
  HostTernary<float> coder(exec, Ternary{}, parts);
  std::vector<float> values(10000, 0.5f);
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] = static_cast<float>(i + 1);
  const auto bounds = coder.bounds(values);
  CHECK(bounds.size() == 5000);
  CHECK(bounds[4999] == 9999);
  coder.agree(bounds);
  const auto decoded = coder.decode(coder.encode(values));
  for (std::size_t i = 0; i < values.size(); i += 2) CHECK(decoded[i] == values[i]);
}

TEST_CASE("options are checked, and told apart") {
  for (const double clip : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const auto message = message_of<PreconditionError>(
        [&] { Ternary::on<HostExecutor> codec{Ternary{.clip = clip}}; });
    CHECK(message.find("clip is " + std::to_string(clip)) != std::string::npos);
  }
  CHECK(Ternary{}.fingerprint() == Ternary{}.fingerprint());
  CHECK(Ternary{}.fingerprint() != Ternary{.block = 64}.fingerprint());
  CHECK(Ternary{}.fingerprint() != Ternary{.clip = 2.5}.fingerprint());
}

}  // namespace

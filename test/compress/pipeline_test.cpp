// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/codec_support.hpp>
#include <suite/plain_executor.hpp>
#include <suite/policy_support.hpp>
#include <suite/values.hpp>

#include <pactrain/compress/int4.hpp>
#include <pactrain/compress/pipeline.hpp>
#include <pactrain/compress/randomised_hadamard.hpp>
#include <pactrain/compress/uniform_homomorphic.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/host/backend.hpp>
#include <pactrain/kernel/hadamard.hpp>
#include <pactrain/mask/full_mask.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/sparse_all_reduce.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::codec;

namespace {

using Floats = std::vector<float>;
using Thc = Pipeline<RandomisedHadamard, NormalHomomorphic>;
using RotatedInt4 = Pipeline<RandomisedHadamard, Int4>;

static_assert(Compressor<Thc, HostExecutor> && Compressor<Thc, PlainExecutor> &&
              has_bounds<Thc, HostExecutor> && Thc::additive);
static_assert(Compressor<RotatedInt4, HostExecutor> && !has_bounds<RotatedInt4, HostExecutor> &&
              !RotatedInt4::additive);
static_assert(Compressor<Pipeline<RandomisedHadamard, RotatedInt4>, HostExecutor>);

std::vector<int> codes(const Bytes& wire) {
  std::vector<int> all;
  for (const std::byte b : wire) all.push_back(static_cast<std::int8_t>(b));
  return all;
}
Bytes added_bytes(Bytes a, const Bytes& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto sum = static_cast<std::int8_t>(a[i]) + static_cast<std::int8_t>(b[i]);
    a[i] = static_cast<std::byte>(sum & 0xff);
  }
  return a;
}
double error_of(const Floats& x, const Floats& y) {
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) error += std::pow(double{x[i]} - double{y[i]}, 2);
  return error / static_cast<double>(x.size());
}
Floats normal_values(std::size_t n, float within = 100) {
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  Floats x;
  while (x.size() < n) {
    const float v = normal(random);
    if (std::abs(v) < within) x.push_back(v);
  }
  return x;
}

TEST_CASE("codes that are summed: the worked numbers") {
  HostExecutor exec;
  Coder<float, HostExecutor, UniformHomomorphic> coder(exec, {.levels = 4}, parts_of({2}), 2);
  CHECK(coder.bounds({-1, 1.0f / 3}) == Floats{1});
  coder.agree({1});
  const Bytes one = coder.encode({-1, 1.0f / 3}), two = coder.encode({1.0f / 3, 1});
  // 0 and 2, 2 and 3 of 0 ... 3, about the middle.
  CHECK(codes(one) == std::vector<int>{-3, 1});
  CHECK(codes(two) == std::vector<int>{1, 3});
  const Bytes sum = added_bytes(one, two);
  const Floats decoded = coder.decode(sum);
  CHECK(decoded[0] / 2 == doctest::Approx(-1.0 / 3));
  CHECK(decoded[1] / 2 == doctest::Approx(2.0 / 3));
}

TEST_CASE("codes widen before they overflow") {
  const auto type = [](const auto& options, int ranks) {
    using Z = std::remove_cvref_t<decltype(options)>;
    return typename Z::template on<HostExecutor>(options).template wire_type<float>(ranks);
  };
  CHECK(type(NormalHomomorphic{}, 8) == ValueType::int8);
  CHECK(type(NormalHomomorphic{}, 9) == ValueType::int16);
  CHECK(type(NormalHomomorphic{}, 32767 / 15) == ValueType::int16);
  CHECK(type(NormalHomomorphic{}, 32767 / 15 + 1) == ValueType::int32);
  CHECK(type(UniformHomomorphic{.levels = 16}, 8) == ValueType::int8);
  CHECK(type(UniformHomomorphic{.levels = 16}, 9) == ValueType::int16);
  CHECK(type(UniformHomomorphic{.levels = 3}, 127) == ValueType::int8);
  HostExecutor exec;
  Coder<float, HostExecutor, Thc> coder(exec, {}, parts_of({3}), 8);
  for (const float x : {5.0f, -5.0f}) {
    coder.agree({1});
    const Bytes wire = coder.encode(Floats(3, x));
    for (const int code : codes(wire)) CHECK(std::abs(code * 8) <= 120);
  }
}

TEST_CASE("every level can be drawn, and the mean over draws is the value") {
  constexpr std::size_t draws = 40000;
  HostExecutor exec;
  const double epsilon = std::sqrt(std::log(2e8) / (2.0 * draws));
  const auto check = [&]<class Z>(const Z& options, double widest) {
    for (double x = -1; x <= 1.0001; x += 0.0625) {
      const auto value = static_cast<float>(std::min(x, 1.0));
      Coder<float, HostExecutor, Z> coder(exec, options, parts_of({draws}), 1, {3, 4});
      coder.agree({1});
      const Floats decoded = coder.decode(coder.encode(Floats(draws, value)));
      double mean = 0;
      for (const float y : decoded) mean += double{y} / draws;
      CHECK(std::abs(mean - double{value}) <= widest * epsilon);
      CHECK(std::abs(decoded[0] - value) <= widest * (1 + 1e-6));
    }
  };
  check(UniformHomomorphic{.levels = 16}, 2.0 / 15);
  check(UniformHomomorphic{.levels = 7}, 2.0 / 6);
  check(NormalHomomorphic{}, 3.0 / 15);
}

TEST_CASE("the table loses less than even levels on normal values: the worked numbers") {
  const Floats x = normal_values(1000000, 2.15387f);
  HostExecutor exec;
  const auto error = [&]<class Z>(const Z& options) {
    Coder<float, HostExecutor, Z> coder(exec, options, parts_of({x.size()}));
    coder.agree({2.15387f});
    return error_of(x, coder.decode(coder.encode(x)));
  };
  const double table = error(NormalHomomorphic{}), even = error(UniformHomomorphic{.levels = 16});
  CHECK(std::abs(table / .013496 - 1) < .004);
  CHECK(std::abs(even / .013749 - 1) < .004);
  CHECK(table < even);
}

TEST_CASE("the rotation: the worked numbers, and back") {
  float y[] = {1, -2};  // (1, 2) with signs (1, -1)
  kernel::hadamard(y, 2);
  CHECK(y[0] == doctest::Approx(-1 / std::sqrt(2.0)));
  CHECK(y[1] == doctest::Approx(3 / std::sqrt(2.0)));
  kernel::hadamard(y, 2);
  CHECK(y[0] == doctest::Approx(1));
  CHECK(y[1] == doctest::Approx(-2));

  HostExecutor exec;
  for (const std::size_t n : {1u, 2u, 3u, 1000u, 1024u, 1025u, 5000u}) {
    const Parts parts = parts_of({n});
    const CodecCall call{parts, 1, {1, 2}, {}};
    RandomisedHadamard::on<HostExecutor> stage{RandomisedHadamard{}};
    const Floats x = values_of<float>(0, n);
    Floats turned(n), back(n, 1.0f);
    stage.forward(exec, call, std::span<const float>(x), std::span(turned));
    double before = 0, after = 0;
    for (const float v : x) before += double{v} * double{v};
    for (const float v : turned) after += double{v} * double{v};
    CHECK(after == doctest::Approx(before).epsilon(1e-5));
    if (n > 2) CHECK(error_of(x, turned) > 0.1 * before / double(n));
    stage.inverse_add(exec, call, std::span(turned), std::span(back));
    for (float& v : back) v -= 1;
    CHECK(error_of(x, back) < 1e-10);
  }
}

TEST_CASE("ranks turn alike, and steps differ") {
  HostExecutor exec;
  const Floats x = values_of<float>(0, 600);
  const auto turned = [&](Random random, std::uint64_t seed) {
    const Parts parts = parts_of({300, 300});
    RandomisedHadamard::on<HostExecutor> stage{RandomisedHadamard{seed}};
    Floats y(600);
    stage.forward(exec, {parts, 2, random, {}}, std::span<const float>(x), std::span(y));
    return y;
  };
  CHECK(turned({1, 5}, 42) == turned({2, 5}, 42));
  CHECK(turned({1, 5}, 42) != turned({1, 6}, 42));
  CHECK(turned({1, 5}, 42) != turned({1, 5}, 43));
}

TEST_CASE("a rotation spreads what a large value would drown") {
  HostExecutor exec;
  Floats x = normal_values(4096);
  for (std::size_t i = 0; i < x.size(); i += 256) x[i] = 100;
  const Parts parts = parts_of({x.size()});
  const double plain = error_of(x, Coder<float, HostExecutor, Int4>(exec, {}, parts).round_trip(x));
  const double rotated =
      error_of(x, Coder<float, HostExecutor, RotatedInt4>(exec, {}, parts).round_trip(x));
  CHECK(rotated < plain / 2);
}

TEST_CASE("a pipeline keeps to parameters, adds to sums, and runs anywhere") {
  HostExecutor exec;
  PlainExecutor plain;
  const Parts parts = parts_of({3000, 0, 5, 700});
  const Floats x = values_of<float>(0, total(parts));
  const auto check = [&]<class Z>(const Z& options) {
    Coder<float, HostExecutor, Z> coder(exec, options, parts, 3, {1, 2});
    Coder<float, PlainExecutor, Z> other(plain, options, parts, 3, {1, 2});
    const auto bounds = coder.bounds(x);
    CHECK(same_bits(bounds, other.bounds(x)));
    coder.agree(bounds);
    other.agree(bounds);
    const Bytes wire = coder.encode(x);
    CHECK(wire == other.encode(x));
    Floats sum(x.size(), 2.0f);
    coder.decode_add(wire, sum);
    const Floats decoded = other.decode(wire);
    for (std::size_t i = 0; i < sum.size(); ++i) CHECK(sum[i] == 2.0f + decoded[i]);

    Coder<float, HostExecutor, Z> alone(exec, options, {{3, 0, 700}}, 3, {1, 2});
    const Floats last(x.end() - 700, x.end());
    const auto own = alone.bounds(last);
    if (!own.empty()) CHECK(own.back() == bounds.back());
    alone.agree(own);
    CHECK(same_bits(alone.decode(alone.encode(last)), Floats(decoded.end() - 700, decoded.end())));
  };
  check(Thc{});
  check(RotatedInt4{});
}

TEST_CASE("THC with feedback conveys all there is, on ranks that are threads") {
  constexpr std::size_t n = 1500;
  constexpr int steps = 200;
  on_threads(3, [&](HostBackend& backend) {
    SparseAllReduce<KeepAll, FullMask, HostBackend, Thc, ErrorFeedback> reduce{backend};
    std::vector<double> sum(n);
    for (int step = 0; step < steps; ++step) {
      Floats gradient = values_of<float>(backend.communicator().rank(), n);
      const Report report = reduce(gradient);
      CHECK(report.payload_bytes == n);
      for (std::size_t i = 0; i < n; ++i) sum[i] += double{gradient[i]};
    }
    const Floats a = values_of<float>(0, n), b = values_of<float>(1, n), c = values_of<float>(2, n);
    double worst = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double mean = (double{a[i]} + double{b[i]} + double{c[i]}) / 3;
      worst = std::max(worst, std::abs(sum[i] / steps - mean));
    }
    CHECK(worst < 0.05);  // a residual of a few values, over 200 steps
  });
}

TEST_CASE("zeros and what is not finite") {
  HostExecutor exec;
  const Parts parts = parts_of({1024, 10});
  Coder<float, HostExecutor, Thc> coder(exec, {}, parts, 2);
  CHECK(coder.round_trip(Floats(1034)) == Floats(1034));
  Floats x = values_of<float>(0, 1034);
  x[3] = std::numeric_limits<float>::infinity();
  const Floats y = coder.round_trip(x);
  CHECK(std::all_of(y.begin(), y.begin() + 1024, [](float v) { return v == 0; }));
  CHECK(std::any_of(y.begin() + 1024, y.end(), [](float v) { return v != 0; }));
}

TEST_CASE("options are checked, and told apart") {
  const auto said = [](auto options) {
    using Z = decltype(options);
    return message_of<PreconditionError>(
        [&] { typename Z::template on<HostExecutor> on(options); });
  };
  CHECK(said(UniformHomomorphic{.levels = 1}).find("has 1 levels") != std::string::npos);
  CHECK(said(UniformHomomorphic{.clip = -1}).find("clip is -1") != std::string::npos);
  CHECK(said(Thc{.codec = {.clip = std::nan("")}}).find("clip is nan") != std::string::npos);
  CHECK(UniformHomomorphic{}.fingerprint() != UniformHomomorphic{.levels = 8}.fingerprint());
  CHECK(UniformHomomorphic{}.fingerprint() != UniformHomomorphic{.block = 8}.fingerprint());
  CHECK(Thc{}.fingerprint() != Thc{.stage = {.seed = 1}}.fingerprint());
  CHECK(Thc{}.fingerprint() != Thc{.codec = {.clip = 3}}.fingerprint());
}

}  // namespace

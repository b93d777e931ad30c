// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/codec_support.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/compress/int8.hpp>
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

std::vector<int> codes(const Bytes& wire, std::size_t scale_bytes) {
  std::vector<int> q;
  for (std::size_t i = scale_bytes; i < wire.size(); ++i)
    q.push_back(static_cast<std::int8_t>(wire[i]));
  return q;
}

TEST_CASE("scales, then codes: the worked numbers") {
  HostExecutor exec;
  Coder<float, HostExecutor, Int8> coder(exec, Int8{.block = 3}, parts_of({4, 2}));
  // The second block of the first part has one value; the second part begins a block of its own.
  const Bytes wire = coder.encode({127, -64, 0.25f, -3, 1, 0.5f});
  float scales[3];
  REQUIRE(wire.size() == sizeof scales + 6);
  std::memcpy(scales, wire.data(), sizeof scales);
  CHECK(std::vector<float>(scales, scales + 3) == std::vector<float>{127, 3, 1});
  CHECK(codes(wire, 12) == std::vector<int>{127, -64, 0, -127, 127, 64});  // 63.5: to even
  const auto decoded = coder.decode(wire);
  CHECK(decoded[0] == 127);
  CHECK(decoded[1] == doctest::Approx(-64));
  CHECK(decoded[3] == -3);
  CHECK(decoded[5] == 64.0f / 127.0f);
}

TEST_CASE("ties go to the even code") {
  HostExecutor exec;
  Coder<float, HostExecutor, Int8> coder(exec, Int8{}, parts_of({7}));
  CHECK(codes(coder.encode({127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 126.5f}), 4) ==
        std::vector<int>{127, 0, 2, 2, 0, -2, 126});
  for (int x = -254; x <= 254; ++x) {
    CHECK(kernel::round_to_even(static_cast<float>(x) / 2) ==
          static_cast<int>(std::nearbyint(x / 2.0)));
    CHECK(kernel::round_to_even(x / 2.0) == static_cast<int>(std::nearbyint(x / 2.0)));
  }
}

TEST_CASE("doubles have scales of doubles") {
  HostExecutor exec;
  Coder<double, HostExecutor, Int8> coder(exec, Int8{}, parts_of({2}));
  CHECK(coder.wire_bytes() == 10);
  CHECK(coder.round_trip({1e300, -1e300}) == std::vector<double>{1e300, -1e300});
  CHECK(coder.round_trip({1e-320, 0}) == std::vector<double>{1e-320, 0});
}

TEST_CASE("a value that is not finite takes its block along") {
  HostExecutor exec;
  Coder<float, HostExecutor, Int8> coder(exec, Int8{.block = 2}, parts_of({6}));
  const float inf = std::numeric_limits<float>::infinity();
  const auto decoded = coder.round_trip({1, 2, -inf, 3, std::nanf(""), 4});
  CHECK(decoded[0] == doctest::Approx(1).epsilon(0.01));
  CHECK(decoded[1] == 2);
  for (std::size_t i = 2; i < 6; ++i) CHECK(std::isnan(decoded[i]));
}

TEST_CASE("a block holds something") {
  CHECK(message_of<PreconditionError>([] {
          Int8::on<HostExecutor> codec{Int8{.block = 0}};
        }).find("a block of Int8 is empty") != std::string::npos);
  CHECK(Int8{}.fingerprint() != Int8{.block = 64}.fingerprint());
}

}  // namespace

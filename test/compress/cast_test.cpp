// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/codec_support.hpp>

#include <pactrain/compress/cast.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/host/rank_order.hpp>
#include <pactrain/kernel/cast.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::codec;

namespace {

/// The mean over `ranks` ranks that all have `x`, by way of a wire of type H.
template <class H>
float mean_of(float x, int ranks) {
  HostExecutor exec;
  Coder<float, HostExecutor, Cast<H>> coder(exec, Cast<H>{}, parts_of({1}), ranks);
  const Bytes wire = coder.encode({x});
  H sent;
  std::memcpy(&sent, wire.data(), sizeof sent);
  H mean;
  reduce_in_rank_order(1, ranks, [&](int) { return &sent; }, Mean{}, &mean);
  Bytes received(sizeof mean);
  std::memcpy(received.data(), &mean, sizeof mean);
  return coder.decode(received)[0];
}

TEST_CASE("averages in half types neither overflow nor vanish") {
  CHECK(mean_of<float16>(40000.0f, 2) == 40000.0f);
  CHECK(mean_of<float16>(0x1p-24f, 4) == 0x1p-24f);
  CHECK(mean_of<bfloat16>(0x1.fep126f, 2) == 0x1.fep126f);
}

TEST_CASE("what is beyond the type becomes an infinity") {
  HostExecutor exec;
  Coder<double, HostExecutor, Cast<float16>> coder(exec, Cast<float16>{}, parts_of({4}));
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(coder.round_trip({65519.99, 65520, -1e300, 1e-300}) ==
        std::vector<double>{65504, inf, -inf, 0});
}

TEST_CASE("doubles are rounded once") {
  // 1 + 2^-11 is a tie between halves; a float cannot tell the neighbours from it.
  const double tie = 1 + 0x1p-11;
  CHECK(float(kernel::cast<float16>(tie)) == 1.0f);
  CHECK(float(kernel::cast<float16>(tie + 0x1p-50)) == 1 + 0x1p-10f);
  CHECK(float(kernel::cast<float16>(tie - 0x1p-50)) == 1.0f);
  CHECK(float(kernel::cast<float16>(-tie - 0x1p-50)) == -1 - 0x1p-10f);
  CHECK(float(kernel::cast<float16>(1 + 3 * 0x1p-11 - 0x1p-50)) == 1 + 0x1p-10f);
  CHECK(float(kernel::cast<float16>(1 + 3 * 0x1p-11)) == 1 + 0x1p-9f);
  CHECK(float(kernel::cast<bfloat16>(1 + 0x1p-8 + 0x1p-50)) == 1 + 0x1p-7f);
  CHECK(float(kernel::cast<bfloat16>(1 + 0x1p-8)) == 1.0f);
  CHECK(float(kernel::cast<bfloat16>(0x1p-134 + 0x1p-180)) == 0x1p-133f);
  CHECK(float(kernel::cast<bfloat16>(0x1p-134)) == 0.0f);
  CHECK(std::isinf(float(kernel::cast<bfloat16>(1e300))));
  CHECK(std::isnan(float(kernel::cast<bfloat16>(std::nan("")))));
  CHECK(std::isnan(float(kernel::cast<float16>(-std::nan("")))));
  CHECK(std::signbit(float(kernel::cast<float16>(-1e-300))));
}

TEST_CASE("the identity copies bits") {
  HostExecutor exec;
  Coder<float, HostExecutor, Identity> coder(exec, Identity{}, parts_of({3}));
  const std::vector<float> values{-0.0f, 0x1p-149f, std::numeric_limits<float>::infinity()};
  const Bytes wire = coder.encode(values);
  CHECK(std::memcmp(wire.data(), values.data(), wire.size()) == 0);
}

}  // namespace

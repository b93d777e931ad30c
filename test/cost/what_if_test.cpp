// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The what-if study: its worked example, its edge cases, and what must hold for any layers.
#include <pactrain/core/error.hpp>
#include <pactrain/cost/what_if.hpp>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <vector>

using namespace pactrain;

namespace {

/// (2 ms, 10 MB), (4 ms, 20 MB), (1 ms, 5 MB).
const std::vector<LayerGradient> example{{2e-3, 10e6}, {4e-3, 20e6}, {1e-3, 5e6}};

WhatIf example_with(double compression) {
  return what_if(example, {.ranks = 4, .rate = 10e9, .compression = compression});
}

using Waits = std::vector<std::pair<unsigned short, unsigned>>;

std::vector<LayerGradient> layers_of(const Waits& waits) {
  std::vector<LayerGradient> layers;
  for (const auto& [wait, bytes] : waits) {
    layers.push_back({1e-6 * wait, static_cast<double>(bytes % 200'000'000)});
  }
  return layers;
}

}  // namespace

TEST_CASE("requests of the worked example are fused as in the study") {
  const auto requests = fuse(example);
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].ready == doctest::Approx(6e-3));
  CHECK(requests[0].bytes == 30e6);
  CHECK(requests[1].ready == doctest::Approx(7e-3));
  CHECK(requests[1].bytes == 5e6);
}

TEST_CASE("times of the worked example are those of the study") {
  const WhatIf plain = example_with(1);
  REQUIRE(plain.on_wire.size() == 2);
  CHECK(plain.on_wire[0].first == doctest::Approx(6e-3));
  CHECK(plain.on_wire[0].second == doctest::Approx(42e-3));
  CHECK(plain.on_wire[1].first == doctest::Approx(42e-3));
  CHECK(plain.on_wire[1].second == doctest::Approx(48e-3));
  CHECK(plain.overhead() == doctest::Approx(41e-3));
  CHECK(plain.scaling_factor(20e-3) == doctest::Approx(0.32787).epsilon(1e-5));

  CHECK(example_with(5).end == doctest::Approx(14.4e-3));
  CHECK(example_with(5).scaling_factor(20e-3) == doctest::Approx(0.72993).epsilon(1e-5));
  CHECK(example_with(10).end == doctest::Approx(10.2e-3));
  CHECK(example_with(10).scaling_factor(20e-3) == doctest::Approx(0.86207).epsilon(1e-5));
  const WhatIf fast = example_with(100);  // the second starts at its own ready time
  CHECK(fast.on_wire[1].first == doctest::Approx(7e-3));
  CHECK(fast.end == doctest::Approx(7.06e-3));
  CHECK(fast.scaling_factor(20e-3) == doctest::Approx(0.99701).epsilon(1e-5));
}

TEST_CASE("edge cases of the study") {
  CHECK(what_if(example, {.ranks = 1}).overhead() == 0);
  CHECK(what_if(example, {.ranks = 1}).scaling_factor(0.02) == 1);
  CHECK(what_if({}, {.ranks = 4}).scaling_factor(0.02) == 1);
  const std::vector<LayerGradient> backwards{{2e-3, 1e6}, {-1e-3, 1e6}};
  CHECK(what_if(backwards, {.ranks = 2}).backward_end == doctest::Approx(2e-3));
  const std::vector<LayerGradient> large{{1e-6, 500e6}, {1e-6, 1}};
  CHECK(fuse(large).size() == 2);
  const std::vector<LayerGradient> empty{{6e-3, 0}, {1e-3, 8}, {9e-3, 0}};
  const auto requests = fuse(empty);  // time alone asks for nothing
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].ready == doctest::Approx(7e-3));
  CHECK_THROWS_AS(static_cast<void>(what_if(example, {.ranks = 0})), PreconditionError);
  CHECK_THROWS_AS(static_cast<void>(what_if(example, {.rate = 0})), PreconditionError);
  CHECK_THROWS_AS(static_cast<void>(what_if(example, {.compression = 0.5})), PreconditionError);
}

TEST_CASE("adding costs by straight lines between what was measured, and flat beyond") {
  const AddTable add({{300, 4.0}, {100, 2.0}});
  CHECK(add(0) == 2.0);
  CHECK(add(100) == 2.0);
  CHECK(add(200) == doctest::Approx(3.0));
  CHECK(add(300) == 4.0);
  CHECK(add(1e9) == 4.0);
  CHECK(AddTable{}(5) == 0);
  CHECK_THROWS_AS(AddTable({{-1, 2}}), PreconditionError);
  // P - 1 additions of a share, in the first phase only, and not made shorter by compression.
  const WhatIf with = what_if(example, {4, 10e9, 100, AddTable({{0, 1e-3}})});
  CHECK(with.on_wire[0].second - with.on_wire[0].first == doctest::Approx(0.36e-3 + 3e-3));
}

TEST_CASE("whatever the layers, the study's laws hold") {
  CHECK(rc::check("rate and compression are interchangeable", [](const Waits& waits) {
    const auto layers = layers_of(waits);
    const WhatIf faster = what_if(layers, {.ranks = 4, .rate = 8e9});
    const WhatIf smaller = what_if(layers, {.ranks = 4, .rate = 1e9, .compression = 8});
    RC_ASSERT(faster.on_wire == smaller.on_wire);
  }));
  CHECK(rc::check("more ranks never scale better, more rate or compression never worse",
                  [](const Waits& waits) {
                    const auto layers = layers_of(waits);
                    const auto factor = [&](int ranks, double rate, double compression) {
                      return what_if(layers, {ranks, rate, compression, {}}).scaling_factor(0.1);
                    };
                    const int ranks = *rc::gen::inRange(1, 300);
                    const double rate = 1e6 * *rc::gen::inRange(1, 100000);
                    const double compression = *rc::gen::inRange(1, 1000);
                    const double here = factor(ranks, rate, compression);
                    RC_ASSERT(factor(ranks + 1, rate, compression) <= here);
                    RC_ASSERT(factor(ranks, rate * 2, compression) >= here);
                    RC_ASSERT(factor(ranks, rate, compression + 1) >= here);
                  }));
  CHECK(rc::check("requests carry all bytes, in order, one at a time", [](const Waits& waits) {
    const auto layers = layers_of(waits);
    double bytes = 0, asked = 0;
    for (const LayerGradient& layer : layers) bytes += layer.bytes;
    for (const FusedRequest& request : fuse(layers)) asked += request.bytes;
    RC_ASSERT(asked == bytes);
    const WhatIf result = what_if(layers, {.ranks = 3});
    double free = 0;
    for (const auto& [begin, end] : result.on_wire) {
      RC_ASSERT(begin >= free && end >= begin);
      free = end;
    }
    if (!result.on_wire.empty()) {
      const auto& last = result.on_wire.back();
      RC_ASSERT(result.overhead() + 1e-9 >=
                last.second - last.first - (result.backward_end - fuse(layers).back().ready));
    }
  }));
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a reduction is said to cost, by hand; what a plan makes of it; and that what is measured is
// the same on all ranks.
#include <pipeline/support.hpp>

#include <pactrain/compress/ternary.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/cost/calibrate.hpp>
#include <pactrain/cost/cost_model.hpp>
#include <pactrain/cost/plan.hpp>
#include <pactrain/gathered.hpp>
#include <pactrain/policy/top_k.hpp>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// Round numbers: a megabyte a second, a millisecond, and nanoseconds a value.
CostModel by_hand() {
  return {.rate = 1e6,
          .latency = 1e-3,
          .call = 1e-5,
          .copy = 1e-9,
          .write = 2e-9,
          .pack = 3e-9,
          .unpack = 4e-9,
          .add = 5e-9,
          .codecs = {{.name = "ternary", .call = 2e-3, .encode = 6e-9, .decode = 7e-9, .bytes = 1},
                     {.gathered = true, .encode = 8e-9, .decode = 9e-9, .bytes = 0.1}}};
}
constexpr ReductionSize size{1'000'000, 100'000, 4};

/// A link so fast that only the caller's own time counts.
CostModel fast() {
  CostModel model = by_hand();
  model.rate = 1e15;
  model.latency = model.add = 0;
  return model;
}

}  // namespace

TEST_CASE("costs are the formulas") {
  const CostModel model = by_hand();
  const auto close = [](double x) { return doctest::Approx(x).epsilon(1e-9); };
  const Cost dense = model.cost(CostModel::dense, size, 4);
  CHECK(dense.before == close(1e-5 + 1e-3));
  CHECK(dense.wire == close(2e-3 + 5e-3));
  CHECK(dense.flow == close(1.5 * 4.0));
  CHECK(dense.after == close(2e-3));
  const Cost packed = model.cost(CostModel::packed, size, 4);
  CHECK(packed.before == close(1e-5 + 3e-3));
  CHECK(packed.wire == close(2e-3 + 5e-4));
  CHECK(packed.flow == close(1.5 * 0.4));
  CHECK(packed.after == close(4e-3));
  const Cost summed = model.cost(2, size, 4);
  CHECK(summed.before == close(1e-5 + 3e-3 + 6e-4));
  CHECK(summed.wire == close(2e-3 + 2e-3 + 5e-4));
  CHECK(summed.flow == close(1.5 * 0.1));
  CHECK(summed.after == close(4e-3 + 7e-4));
  const Cost gathered = model.cost(3, size, 4);
  CHECK(gathered.wire == close(1e-3));
  CHECK(gathered.flow == close(3 * 0.01));
  CHECK(gathered.after == close(4e-3 + 4 * 9e-4));
  CHECK(gathered.total() ==
        close(gathered.before + gathered.wire + gathered.flow + gathered.after));

  for (std::size_t c = 0; c < model.candidates(); ++c) {
    CHECK(model.cost(c, size, 1).wire == 0);
    CHECK(model.cost(c, size, 1).flow == 0);
  }
  CHECK(model.name(0) == "dense");
  CHECK(model.name(1) == "packed");
  CHECK(model.name(2) == "ternary");
  CHECK(model.name(3) == "codec 1");
  CHECK_THROWS_AS(static_cast<void>(CostModel{}.cost(0, size, 2)), PreconditionError);
  CHECK_NOTHROW(expect_valid(model));
  CHECK_THROWS_AS(expect_valid(CostModel{}), PreconditionError);
  CostModel negative = model;
  negative.codecs[1].decode = -1;
  CHECK_THROWS_AS(expect_valid(negative), PreconditionError);
}

TEST_CASE("a step is its buckets on one wire, one after the other") {
  const std::array<PlannedBucket, 2> buckets{{{{}, 3.0}, {{}, 1.0}}};
  // Starts at 3 + 1 and 4 + 1 + 1; on the wire until 9 and 14; then each is finished.
  const std::array<Cost, 2> costs{{{1.0, 1.0, 4.0, 0.5}, {1.0, 5.0, 0.0, 0.5}}};
  CHECK(step_seconds(buckets, costs) == doctest::Approx(14.5));
  // A wire that is fast waits for the second bucket, and the caller for nothing.
  const std::array<Cost, 2> short_costs{{{1.0, 0.1, 0, 0.5}, {1.0, 0.1, 0, 0.5}}};
  CHECK(step_seconds(buckets, short_costs) == doctest::Approx(7.0));
  // Of the flow a burst is free, and once more where the wire was idle for as long.
  const std::array<Cost, 2> flows{{{0, 0, 3.0, 0}, {0, 0, 3.0, 0}}};
  const std::array<PlannedBucket, 2> close_by{{{{}, 0}, {{}, 2.5}}}, apart{{{{}, 0}, {{}, 9.0}}};
  CHECK(step_seconds(close_by, flows, 2.0) == doctest::Approx(2.5 + 3.0 - 1.5));
  CHECK(step_seconds(apart, flows, 2.0) == doctest::Approx(9.0 + 1.0));
  CHECK(step_seconds({}, std::span<const Cost>{}) == 0);
  const std::array<PlannedBucket, 1> one{{{size, 0.25}}};
  CHECK(step_seconds(by_hand(), one, CostModel::packed, 4) ==
        doctest::Approx(0.25 + by_hand().cost(CostModel::packed, size, 4).total()));
}

TEST_CASE("a plan leaves dense only what pays") {
  const std::vector<PlannedBucket> same(3, {size, 0});
  using Choice = std::vector<std::size_t>;
  CHECK(plan(by_hand(), same, 4, 0.05) == Choice{3, 3, 3});
  CHECK(plan(by_hand(), same, 1, 0.05) == Choice{0, 0, 0});
  CHECK(plan(fast(), same, 4, 0.05) == Choice{0, 0, 0});
  CostModel no_gather = by_hand();
  no_gather.codecs[1].bytes = 100;
  CHECK(plan(no_gather, same, 4, 0.05) == Choice{2, 2, 2});
  no_gather.codecs[0].bytes = 3.95;  // saves less than the margin over packing
  CHECK(plan(no_gather, same, 4, 0.05) == Choice{1, 1, 1});
  // The first is on the wire while backward goes on for longer than it takes.
  const std::vector<PlannedBucket> hidden{{size, 0}, {size, 100.0}};
  CHECK(plan(by_hand(), hidden, 4, 0.05) == Choice{0, 3});
}

TEST_CASE("a plan is never longer than dense") {
  CHECK(rc::check([](const std::vector<std::pair<unsigned short, unsigned short>>& drawn) {
    std::vector<PlannedBucket> buckets;
    for (const auto& [entries, wait] : drawn) {
      if (buckets.size() == 12) break;
      buckets.push_back({{entries * std::size_t{16}, entries * std::size_t{2}, 4}, 1e-6 * wait});
    }
    CostModel model = by_hand();
    model.rate = 1e5 * *rc::gen::inRange(1, 1000000);
    const auto choice = plan(model, buckets, 4, 0.0);
    std::vector<Cost> costs;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      costs.push_back(model.cost(choice[i], buckets[i].size, 4));
    }
    RC_ASSERT(step_seconds(buckets, costs) <=
              step_seconds(model, buckets, CostModel::dense, 4) * (1 + 1e-12));
  }));
}

TEST_CASE("a link is a rate, and what passes beyond it at once") {
  CostModel model{.latency = 1e-3};
  const auto fit = [&](std::vector<LinkSample> samples) { fit_link(model, samples); };
  // 45 kB at once, then 12.5 MB a second.
  fit({{30e3, 2e-3}, {400e3, 2e-3 + 0.355 / 12.5}, {1600e3, 2e-3 + 1.555 / 12.5}});
  CHECK(model.rate == doctest::Approx(12.5e6));
  CHECK(model.burst == doctest::Approx(45e3));
  fit({{400e3, 2e-3 + 0.5 / 12.5}, {1600e3, 2e-3 + 1.6 / 12.5}});  // slow at first
  CHECK(model.rate == doctest::Approx(12.5e6));
  CHECK(model.burst == doctest::Approx(0));
  fit({{400e3, 1.0}, {1600e3, 0.5}});  // disturbed
  CHECK(model.rate == doctest::Approx(1600e3 / 0.498));
  fit({{1e6, 0.102}});
  CHECK(model.rate == doctest::Approx(1e7));
  CHECK(model.burst == doctest::Approx(0));
}

TEST_CASE("a calibrated model is valid, and the same on all ranks") {
  for (const int ranks : {1, 3}) {
    with_ranks(ranks, [&](HostBackend& backend, int) {
      const CostModel model =
          calibrate(backend, Ternary{}, Gathered<TopK>{.policy = {.fraction = 0.01}});
      CHECK_NOTHROW(expect_valid(model));
      REQUIRE(model.codecs.size() == 2);
      CHECK(!model.codecs[0].gathered);
      CHECK(model.codecs[1].gathered);
      std::vector<double> numbers{model.rate,  model.burst, model.latency, model.call, model.copy,
                                  model.write, model.pack,  model.unpack,  model.add};
      for (const CodecCost& codec : model.codecs) {
        for (const double x : {codec.call, codec.encode, codec.decode, codec.bytes}) {
          numbers.push_back(x);
        }
      }
      if (ranks == 1) return;
      CHECK(model.codecs[0].bytes == doctest::Approx(1).epsilon(0.01));     // a byte a value
      CHECK(model.codecs[1].bytes == doctest::Approx(0.08).epsilon(0.35));  // 1 % of at most 8
      const auto all = gather_host_values(backend.executor(), backend.communicator(),
                                          std::span<const double>(numbers));
      for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == numbers[i % numbers.size()]);
    });
  }
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lossless homomorphic compression: worked example, linearity, peeling and where it ends, indexes.
#include <pipeline/support.hpp>
#include <suite/own_exchange.hpp>

#include <pactrain/algorithm/sketch_index.hpp>
#include <pactrain/algorithm/sketch_plan.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/kernel/sketch_cells.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/non_zero.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/united.hpp>
#include <pactrain/sketch_all_reduce.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using kernel::Link;
using reducer::contains;
using reducer::refusal;
using reducer::same_on_all;

namespace {

using Vector = std::vector<float>;
using Reducer = SketchAllReduce<HostBackend>;

/// A sketch of one segment whose cells are given by hand, and what peeling finds.
struct ByHand {
  std::vector<Link> links;
  std::size_t cells, items = links.size() / 3;
  kernel::Segments segments{items, 1};
  std::vector<std::uint32_t> counts = std::vector<std::uint32_t>(cells);
  std::vector<kernel::Turn> turns = std::vector<kernel::Turn>(items);
  std::vector<std::uint32_t> waiting = std::vector<std::uint32_t>(items);
  std::size_t cells_before = 0, resolved = 0, rounds = 0, unresolved_before = 0;

  void peel() {
    kernel::Peel{segments,     links.data(),   &cells_before, counts.data(),
                 turns.data(), waiting.data(), &resolved,     &rounds}(0);
  }
  [[nodiscard]] kernel::SketchPlan plan() const {
    return {segments,      links.data(), turns.data(),      waiting.data(),
            &cells_before, &resolved,    &unresolved_before};
  }
};
constexpr Link plus(std::uint32_t cell) { return {cell}; }
constexpr Link minus(std::uint32_t cell) { return {cell | Link::negative}; }

/// A plan of `items` items at random positions below 2^20.
SketchPlan<HostExecutor> plan_of(std::size_t items, double load, std::uint64_t seed,
                                 std::size_t per_segment = 1u << 20, std::size_t lanes = 1) {
  std::set<std::size_t> positions;
  for (std::size_t i = 0; positions.size() < items; ++i)
    positions.insert(kernel::mix(i, seed) >> 44);
  const std::vector<std::size_t> list(positions.begin(), positions.end());
  HostExecutor exec;
  SketchPlan<HostExecutor> plan;
  plan.make(exec, std::span<const std::size_t>(list), per_segment, lanes, load, seed);
  return plan;
}
template <class Cell>
std::vector<Cell> encoded(const SketchPlan<HostExecutor>& plan, const Vector& x) {
  std::vector<Cell> cells(plan.cells());
  for (std::size_t segment = 0; segment < plan.segments(); ++segment) {
    kernel::EncodeSketch<float, Cell>{plan.plan(), {}, x.data(), cells.data(), nullptr}(segment);
  }
  return cells;
}
template <class Cell>
Vector decoded(const SketchPlan<HostExecutor>& plan, std::vector<Cell>& cells) {
  Vector x(plan.plan().segments.items);
  for (std::size_t segment = 0; segment < plan.segments(); ++segment) {
    kernel::DecodeSketch<float, Cell>{plan.plan(), {}, 1, cells.data(), nullptr, x.data()}(segment);
  }
  return x;
}
/// Whole numbers, so that sums of floats are exact in any order.
Vector whole_numbers(int rank, std::size_t n, std::uint64_t one_in) {
  Vector x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t random = kernel::mix(i, static_cast<std::uint64_t>(rank) + 99);
    if (random % one_in == 0)
      x[i] = static_cast<float>(static_cast<int>(random >> 40 & 1023) - 512);
  }
  return x;
}

}  // namespace

TEST_CASE("what is owed by a codec with a way of its own") { own::check<own::Sketches, Threads>(); }

TEST_CASE("3.8: the worked example, peeled in two rounds until all cells are zero") {
  ByHand sketch{.links = {plus(0), plus(2), minus(3), minus(1), minus(2), plus(3), plus(0), plus(1),
                          minus(4)},
                .cells = 5};
  sketch.peel();
  CHECK(sketch.rounds == 2);
  CHECK(sketch.resolved == 3);
  CHECK(sketch.turns[0].item() == 2);  // x4, alone in cell 4
  CHECK(sketch.turns[0].link() == 2);
  CHECK(sketch.turns[1].item() == 0);
  CHECK(sketch.turns[2].item() == 1);
  CHECK(sketch.counts == std::vector<std::uint32_t>(5));
  const Vector x{2, -1, 4};
  std::vector<std::uint32_t> y(5);
  kernel::EncodeSketch<float, std::uint32_t>{sketch.plan(), {}, x.data(), y.data(), nullptr}(0);
  CHECK(y == std::vector<std::uint32_t>{6, 5, 3, static_cast<std::uint32_t>(-3),
                                        static_cast<std::uint32_t>(-4)});
  Vector found(3);
  kernel::DecodeSketch<float, std::uint32_t>{
      sketch.plan(), {}, 1, y.data(), nullptr, found.data()}(0);
  CHECK(found == x);
  CHECK(y == std::vector<std::uint32_t>(5));
}

TEST_CASE("an item with two equal cells comes out by the third; with three equal ones, never") {
  ByHand two{.links = {plus(0), minus(0), plus(1), plus(0), plus(2), minus(3)}, .cells = 4};
  two.peel();
  CHECK(two.resolved == 2);
  const Vector x{5, 7};
  std::vector<std::uint32_t> y(4);
  kernel::EncodeSketch<float, std::uint32_t>{two.plan(), {}, x.data(), y.data(), nullptr}(0);
  Vector found(2);
  kernel::DecodeSketch<float, std::uint32_t>{two.plan(), {}, 1, y.data(), nullptr, found.data()}(0);
  CHECK(found == x);
  ByHand three{.links = {plus(0), plus(0), minus(0), plus(0), plus(2), minus(3)}, .cells = 4};
  three.peel();
  CHECK(three.resolved == 1);
  CHECK(three.waiting[0] == 0);
}

TEST_CASE("every item has three distinct cells, one in each table") {
  for (const std::size_t lanes : {std::size_t{1}, std::size_t{8}}) {
    const auto plan = plan_of(2000, 0.7, 5, 300, lanes);
    const kernel::SketchPlan& is = plan.plan();
    CHECK(plan.segments() == 6);
    std::set<std::uint32_t> signs;
    for (std::size_t item = 0; item < 2000; ++item) {
      const std::size_t segment = is.segments.of(item);
      CHECK(item >= is.segments.first(segment));
      CHECK(item < is.segments.first(segment + 1));
      const std::size_t end =
          segment + 1 < plan.segments() ? is.cells_before[segment + 1] : plan.cells();
      const std::size_t table = (end - is.cells_before[segment]) / 3;
      std::uint32_t sign = 0;
      for (std::uint32_t a = 0; a < 3; ++a) {
        CHECK(is.links[3 * item + a].cell() / table == a);
        sign = 2 * sign + (is.links[3 * item + a].bits >> 31);
      }
      signs.insert(sign);
    }
    CHECK(signs.size() == 8);
    if (lanes == 1) CHECK(plan.cells() <= std::size_t(2000 / 0.7) + 3 * plan.segments());
    if (lanes == 1) CHECK(plan.cells() >= std::size_t(2000 / 0.7));
  }
}

TEST_CASE("3.4: how often all is peeled, by cells and load") {
  struct Entry {
    std::size_t cells;
    double load, success;
  };
  for (const Entry& entry : {Entry{30, .5, .87},
                             {30, .7, .58},
                             {99, .6, .95},
                             {99, .8, .29},
                             {300, .7, .98},
                             {300, .75, .94},
                             {300, .85, .02},
                             {999, .7, 1},
                             {999, .75, 1},
                             {999, .85, 0}}) {
    CAPTURE(entry.cells);
    CAPTURE(entry.load);
    const int trials = entry.cells < 300 ? 500 : 150;
    int complete = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const auto items = static_cast<std::size_t>(double(entry.cells) * entry.load + 0.5);
      const auto plan = plan_of(items, double(items) / (double(entry.cells) - 0.5),
                                static_cast<std::uint64_t>(trial));
      CHECK(plan.cells() == entry.cells);
      complete += plan.unresolved() == 0 ? 1 : 0;
    }
    CHECK(std::abs(double(complete) / trials - entry.success) < 0.08);
  }
  CHECK(plan_of(2100, 0.7, 1).unresolved() == 0);
  CHECK(plan_of(2550, 0.85, 1).unresolved() > 1275);  // above the threshold it collapses
}

TEST_CASE("sketches add: of two vectors, the sketch of their sum") {
  const auto plan = plan_of(500, 0.6, 3, 250);
  REQUIRE(plan.segments() == 2);
  REQUIRE(plan.unresolved() == 0);
  Vector a = whole_numbers(0, 500, 1), b = whole_numbers(1, 500, 1), both = a;
  for (std::size_t i = 0; i < 500; ++i) both[i] += b[i];
  const auto check = [&]<class Cell>(Cell) {
    auto x = encoded<Cell>(plan, a);
    const auto y = encoded<Cell>(plan, b);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<Cell>(x[i] + y[i]);
    CHECK(x == encoded<Cell>(plan, both));
    CHECK(decoded(plan, x) == both);
    CHECK(x == std::vector<Cell>(x.size()));  // the free check: all cells are zero
    x = encoded<Cell>(plan, a);
    x[7] = static_cast<Cell>(x[7] + 1);
    static_cast<void>(decoded(plan, x));
    CHECK(x != std::vector<Cell>(x.size()));
  };
  check(std::uint32_t{});
  check(std::uint64_t{});
  check(float{});  // whole numbers
  const Vector any = values_of<float>(0, 500);
  auto cells = encoded<float>(plan, any);
  const Vector found = decoded(plan, cells);
  for (std::size_t i = 0; i < 500; ++i) {
    CHECK(std::abs(double(found[i]) - double(any[i])) < 1e-3);  // of magnitudes up to 128
  }
}

TEST_CASE("integers that wrap in between come out whole") {
  const auto plan = plan_of(500, 0.7, 3);
  REQUIRE(plan.unresolved() == 0);
  const Vector x(500, 2147483520.0f);
  auto cells = encoded<std::uint32_t>(plan, x);
  CHECK(decoded(plan, cells) == x);
}

TEST_CASE("sums are those of the dense vector, the index the union; cancelled entries are zeros") {
  on_each<Threads>([](HostBackend& backend) {
    constexpr std::size_t n = 30000;
    const int ranks = backend.communicator().size(), rank = backend.communicator().rank();
    const ReduceOptions summed{.reduction = Reduction::sum};
    const auto kinds = {SketchCells::fixed64, SketchCells::fixed32, SketchCells::floating};
    for (const SketchCells cells : kinds) {
      for (const std::size_t lanes : {std::size_t{1}, std::size_t{64}}) {
        Reducer reduce{
            backend, {.cells = cells, .lanes = lanes, .segment = lanes > 1 ? 20u : 1024u}, summed};
        OnThreads<United<NonZero>, BitMask> packed{backend, {}, {}, {}, summed};
        Vector gradient = whole_numbers(rank, n, 20);
        for (std::size_t i = 0; i < 40 && ranks > 1; ++i) {
          gradient[i] = rank == 0 ? 3.0f : rank == ranks - 1 ? -3.0f : 0.0f;
        }
        Vector expected = gradient;
        const Report other = packed(expected);
        const Report report = reduce(gradient);
        CHECK(same_bits(gradient, expected));
        CHECK(report.kept == other.kept);
        CHECK(report.path == Path::packed);
        if (ranks > 1) CHECK(gradient[7] == 0.0f);
        CHECK(reduce.codec_state().rounded == 0);
        const std::size_t size = cells == SketchCells::fixed64 ? 8 : 4;
        CHECK(report.payload_bytes ==
              size * (reduce.codec_state().cells + reduce.codec_state().unresolved));
        if (lanes > 1) continue;
        CHECK(reduce.codec_state().unresolved <= 4);
        CHECK(reduce.codec_state().rounds > 3);
        CHECK(double(reduce.codec_state().cells) < double(report.kept) / 0.7 + 100);
      }
    }
  });
}

TEST_CASE(
    "whole numbers of a unit: 62 bits hold floats as they are, and what they do not is told") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 2000;
    Vector gradient = values_of<float>(rank, n);
    Reducer fine{backend}, coarse{backend, {.cells = SketchCells::fixed32}};
    Vector exact(n), rough = gradient;
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (int r = 0; r < 3; ++r) sum += double(value_of<float>(r, i));
      exact[i] = static_cast<float>(sum / 3);
    }
    fine(gradient);
    CHECK(same_bits(gradient, exact));
    CHECK(fine.codec_state().rounded == 0);
    coarse(rough);
    CHECK(coarse.codec_state().rounded > 0);
    // 30 bits less two for three ranks, below 2^7: a unit is 2^-21, and each rank adds half of one.
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(std::abs(double(rough[i]) - double(exact[i])) <= 0x1p-22 + 0x1p-18);
    }
    Vector wide(n, 1.0f);
    if (rank == 1) wide[0] = 1e30f;
    fine(wide);
    CHECK(fine.codec_state().rounded == (rank == 1 ? n - 1 : n));
  });
}

TEST_CASE(
    "what cannot be peeled travels as it is; only where asked for it is estimated, and told") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 20000;
    const ReduceOptions summed{.reduction = Reduction::sum};
    Reducer repairs{backend, {.load = 0.9}, summed};
    Reducer estimates{backend, {.load = 0.9, .unresolved = SketchUnresolved::estimate}, summed};
    Vector a = whole_numbers(rank, n, 10), b = a, exact = whole_numbers(1 - rank, n, 10);
    for (std::size_t i = 0; i < n; ++i) exact[i] += a[i];
    const Report report = repairs(a);
    CHECK(same_bits(a, exact));
    CHECK(repairs.codec_state().unresolved > report.kept / 2);
    estimates(b);
    CHECK(estimates.codec_state().unresolved == repairs.codec_state().unresolved);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += b[i] != exact[i] ? 1 : 0;
    CHECK(wrong > 0);
    CHECK(wrong <= estimates.codec_state().unresolved);
    CHECK(same_on_all(backend, reducer::hash(b)));
  });
}

TEST_CASE("estimates are right on average over signs") {
  constexpr std::size_t items = 40;
  constexpr int trials = 3000;
  const Vector x = whole_numbers(0, items, 1);
  std::vector<double> sum(items), squares(items);
  HostExecutor exec;
  std::vector<std::size_t> positions(items);
  for (std::size_t i = 0; i < items; ++i) positions[i] = 31 * i;
  SketchPlan<HostExecutor> plan;
  for (int trial = 0; trial < trials; ++trial) {
    plan.make(exec, std::span<const std::size_t>(positions), items, 1, 1.0,
              static_cast<std::uint64_t>(trial));
    auto cells = encoded<float>(plan, x);
    const Vector found = decoded(plan, cells);
    for (std::size_t i = 0; i < items; ++i) {
      sum[i] += double(found[i]) - double(x[i]);
      squares[i] += std::pow(double(found[i]) - double(x[i]), 2);
    }
  }
  for (std::size_t i = 0; i < items; ++i) {
    CAPTURE(i);
    CHECK(squares[i] > 0);
    CHECK(std::abs(sum[i]) < 4.5 * std::sqrt(squares[i]));
  }
}

TEST_CASE("a Bloom filter finds all that there is and a few more, whose sums are zero") {
  on_each<Threads>([](HostBackend& backend) {
    constexpr std::size_t n = 100000;
    const int ranks = backend.communicator().size(), rank = backend.communicator().rank();
    for (const std::uint64_t one_in : {50u, 1000u, 20000u}) {
      CAPTURE(one_in);
      Reducer bits{backend}, filter{backend, {.index = SketchIndexKind::bloom}};
      Vector a = whole_numbers(rank, n, one_in);
      for (std::size_t i = 5000; i < 5000 + n / one_in / 4; ++i) a[i] = 1.0f;  // some in a row
      Vector b = a;
      const Report exact = bits(a), report = filter(b);
      CHECK(same_bits(a, b));
      CHECK(report.kept >= exact.kept);
      CHECK(double(report.kept - exact.kept) <= 0.2 * double(exact.kept) + 3);
      CHECK(bits.codec_state().index_bits == n);
      CHECK((filter.codec_state().index_bits < n || one_in == 50));
      if (ranks > 1 && one_in >= 1000) CHECK(report.bytes_sent < exact.bytes_sent);
    }
    Reducer filter{backend, {.index = SketchIndexKind::bloom}};
    Vector dense(1000, 1.0f);
    CHECK(filter(dense).kept == 1000);
    CHECK(filter.codec_state().index_bits == 1000);  // bits would be no more
  });
}

TEST_CASE("a filter's phantoms are as few as asked for") {
  HostBackend backend;
  constexpr std::size_t n = 1u << 20;
  for (const std::uint64_t one_in : {200u, 2000u}) {
    const Vector x = whole_numbers(3, n, one_in);
    SketchIndex<HostExecutor> index;
    index.mark(backend.executor(), std::span<const float>(x));
    const double there = static_cast<double>(index.count());
    const auto shape = bloom_shape(n, index.count(), 0.05, one_in);
    const auto wire = index.wire(backend.executor(), shape);
    const std::vector<std::byte> sent(wire.begin(), wire.end());
    index.merge(backend.executor(), std::span<const std::byte>(sent), 1);
    CHECK(double(index.count()) >= there);
    CHECK(double(index.count()) < 1.1 * there);
    std::size_t missing = 0;
    for (std::size_t i = 0; i < n; ++i) missing += x[i] != 0 && !index.mask().keep()(i) ? 1 : 0;
    CHECK(missing == 0);
  }
}

TEST_CASE("filters grow with what they are to hold, and never beyond a bit for each") {
  std::size_t before = 0;
  for (const std::size_t items : {1u, 10u, 100u, 1000u, 10000u}) {
    const auto shape = bloom_shape(1000000, items, 0.05, 1);
    CHECK(shape.words() * 64 < 1000000);
    CHECK(shape.words() >= before);
    before = shape.words();
  }
  CHECK(bloom_shape(1000000, 500000, 0.05, 1).blocks == 0);
  CHECK(bloom_shape(1000000, 0, 0.05, 1).blocks == 0);
  CHECK(bloom_shape(0, 0, 0.05, 1).blocks == 0);
}

TEST_CASE("nothing at all, zeros, one entry, all entries; halves and doubles") {
  const auto check = []<GradientValue T>(T) {
    on_each<Threads>([](HostBackend& backend) {
      const int ranks = backend.communicator().size();
      SketchAllReduce<HostBackend> reduce{backend, {.segment = 10}, {.reduction = Reduction::sum}};
      std::vector<T> x(129);
      CHECK(reduce(x).payload_bytes == 0);
      CHECK(same_bits(x, std::vector<T>(129)));
      x[70] = T(1.5f);
      const Report one = reduce(x);
      CHECK(one.kept == 1);
      CHECK(float(x[70]) == 1.5f * float(ranks));
      x.assign(129, T(-0.25f));
      CHECK(reduce(x).kept == 129);
      CHECK(same_bits(x, std::vector<T>(129, T(-0.25f * float(ranks)))));
      SketchAllReduce<HostBackend> of_none{backend};
      std::vector<T> none;
      CHECK(of_none(none).entries == 0);
    });
  };
  for_gradient_types([&]<class T>() { check(T{}); });
}

TEST_CASE("sums beyond the range of the type are refused, with all as it was") {
  for (const SketchCells cells : {SketchCells::fixed64, SketchCells::floating}) {
    with_ranks(3, [&](HostBackend& backend, int) {
      Vector gradient(9, 3e38f);
      Reducer reduce{backend, {.cells = cells}, {.reduction = Reduction::sum}};
      const std::string text = refusal<StepRejected>(backend, [&] { reduce(gradient); });
      CHECK_MESSAGE(contains(text, "their sum are beyond the range"), text);
      CHECK(gradient == Vector(9, 3e38f));
      CHECK(reduce.step() == 0);
    });
  }
}

TEST_CASE("behind a pruning policy, started and waited for: the exact sum of what it keeps") {
  on_each<Threads>([](HostBackend& backend) {
    constexpr std::size_t n = 5000;
    std::vector<bool> flags(n);
    for (std::size_t i = 0; i < n; ++i) flags[i] = i % 3 != 0;
    const Pruned policy = Pruned::from_flags(flags);
    OnThreads<Pruned, BitMask, Sketch> sketched{backend, policy};
    OnThreads<Pruned, BitMask> packed{backend, policy};
    for (int step = 0; step < 3; ++step) {
      Vector x = whole_numbers(backend.communicator().rank() + 5 * step, n, 10), y = x;
      std::size_t some = 0;
      Pending pending = sketched.start(x);
      for (int i = 0; i < 100 && !pending.advance(); ++i) continue;
      packed(y);
      const Report report = pending.report();
      for (const float value : y) some += value != 0 ? 1 : 0;
      CHECK(same_bits(x, y));
      CHECK(report.kept >= some);
      CHECK(report.kept < n / 2);
      CHECK(sketched.codec_state().index_bits == n - (n + 2) / 3);
    }
  });
}

TEST_CASE("what whole numbers round is remembered, if it is to be") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 300;
    DenseAllReduce<HostBackend, Sketch, ErrorFeedback> remembers{
        backend, {}, {.cells = SketchCells::fixed32}};
    DenseAllReduce<HostBackend, Sketch> forgets{backend, {}, {.cells = SketchCells::fixed32}};
    std::vector<double> missed(n), lost(n);
    constexpr int steps = 50;
    for (int step = 0; step < steps; ++step) {
      Vector x(n);
      for (int r = 0; r < 3; ++r) {
        for (std::size_t i = 0; i < n; ++i) {
          const float value = i == 0 ? 1.0f : 1e-9f * (1.0f + value_of<float>(r, i));
          missed[i] += double(value) / 3;
          lost[i] += double(value) / 3;
          if (r == rank) x[i] = value;
        }
      }
      Vector y = x;
      remembers(x);
      forgets(y);
      for (std::size_t i = 0; i < n; ++i) missed[i] -= double(x[i]), lost[i] -= double(y[i]);
    }
    double worst = 0, worst_lost = 0;
    for (std::size_t i = 0; i < n; ++i) {
      worst = std::max(worst, std::abs(missed[i]));
      worst_lost = std::max(worst_lost, std::abs(lost[i]));
    }
    CHECK(worst < 1e-8);  // a unit is 2^-28 or 2^-27
    CHECK(worst_lost > 3e-8);
  });
}

TEST_CASE("where nobody minds an infinity, the others come out as they would have") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    Reducer reduce{backend, {}, {.non_finite = NonFinite::ignore}};
    DenseAllReduce<HostBackend> dense{backend, {}, {}, {}, {.non_finite = NonFinite::ignore}};
    Vector x = whole_numbers(rank, 500, 5);
    if (rank == 1) x[100] = infinity;
    Vector y = x;
    const Report report = reduce(x);
    dense(y);
    CHECK(same_bits(x, y));
    CHECK(x[100] == infinity);
    CHECK(!report.non_finite);
    CHECK(report.payload_bytes == 500 * sizeof(float));
  });
}

TEST_CASE("a part of the model is refused: the unit is agreed for all of it") {
  with_ranks(2, [](HostBackend& backend, int) {
    Vector x(60, 1.0f);
    const std::vector<Slice<float>> all{{"a", std::span(x).first(20)},
                                        {"b", std::span(x).subspan(20)}};
    Reducer reduce{backend};
    reduce(all);
    const std::string text =
        refusal<PreconditionError>(backend, [&] { reduce(std::vector{all[0]}); });
    CHECK_MESSAGE(contains(text, "pass all of it in one call"), text);
    CHECK(reduce(all).step == 1);
  });
}

TEST_CASE("a rank without data adds nothing, not even to the index") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    Reducer reduce{backend, {}, {.reduction = Reduction::sum}};
    Vector gradient(100);
    gradient[static_cast<std::size_t>(rank)] = 2;
    const Report report =
        reduce(gradient, rank == 0 ? Contribution::nothing : Contribution::gradient);
    CHECK(report.kept == 1);
    CHECK(gradient[0] == 0.0f);
    CHECK(gradient[1] == 2.0f);
  });
}

TEST_CASE("options that cannot work are refused, and differences by their name") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    CHECK_THROWS_AS(Reducer(backend, {.load = 0}), PreconditionError);
    CHECK_THROWS_AS(Reducer(backend, {.load = 1.5}), PreconditionError);
    CHECK_THROWS_AS(Reducer(backend, {.lanes = 0}), PreconditionError);
    CHECK_THROWS_AS(Reducer(backend, {.segment = 0}), PreconditionError);
    CHECK_THROWS_AS(Reducer(backend, {.lanes = 1u << 13, .segment = 1u << 13}), PreconditionError);
    CHECK_THROWS_AS(Reducer(backend, {.phantoms = 0}), PreconditionError);
    Vector gradient(900, 1.0f);
    Reducer seeds{backend, {.seed = rank == 0 ? 1u : 2u}};
    reducer::check_mismatch(backend, 1, "codec", [&] { seeds(gradient); });
  });
}

TEST_CASE("a sparse gradient as the documentation spells it") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    std::vector<float> gradient(10000);
    gradient[rank == 0 ? 17 : 4711] = 1.0f;

    SketchAllReduce<HostBackend> reduce{backend, {.cells = SketchCells::fixed32}};
    Report report = reduce(gradient);  // the mean, zeros where all ranks have zeros
    std::size_t repaired = reduce.codec_state().unresolved;

    CHECK(report.kept == 2);
    CHECK(repaired <= 2);
    CHECK(gradient[17] == 0.5f);
  });
}

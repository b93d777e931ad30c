// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sparse streams by owners of ranges, which become dense where that is shorter.
#include <pipeline/damage.hpp>
#include <pipeline/support.hpp>

#include <pactrain/algorithm/range_sum.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/non_zero.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/threshold.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/sparse_streams.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::residual_in;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;
template <class P, class F = NoFeedback>
using Streams = OnThreads<SparseStreams<P>, IndexMask, Identity, F>;

template <class T>
std::vector<bool> largest(const std::vector<T>& x, std::size_t k) {
  std::vector<std::size_t> order(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order,
                           [&](auto a, auto b) { return magnitude(x[a]) > magnitude(x[b]); });
  std::vector<bool> kept(x.size());
  for (std::size_t i = 0; i < std::min(k, x.size()); ++i) kept[order[i]] = true;
  return kept;
}
/// The dense sum of what ranks choose, in rank order, from zero; then the mean, rounded once.
template <class T>
std::vector<T> mean_of_largest(int ranks, int step, std::size_t n, std::size_t k) {
  using A = arithmetic_t<T>;
  std::vector<A> sum(n);
  for (int rank = 0; rank < ranks; ++rank) {
    const auto x = values_of<T>(rank + 10 * step, n);
    const auto kept = largest(x, k);
    for (std::size_t i = 0; i < n; ++i) sum[i] += kept[i] ? static_cast<A>(x[i]) : A(0);
  }
  std::vector<T> mean(n);
  for (std::size_t i = 0; i < n; ++i) mean[i] = static_cast<T>(sum[i] / static_cast<A>(ranks));
  return mean;
}

/// A stream in memory of its own.
struct HostStream {
  SparseStream<float> stream;
  std::vector<std::uint64_t> memory;
  HostStream(const Vector& dense, const std::vector<std::size_t>& positions)
      : stream(SparseStream<float>::of(dense.size(), positions.size())),
        memory(stream.bytes() / 8) {
    stream.body = reinterpret_cast<std::byte*>(memory.data());
    for (std::size_t i = 0; i < positions.size(); ++i) {
      stream.values()[stream.dense ? positions[i] : i] = dense[positions[i]];
      if (!stream.dense) stream.positions().put(i, positions[i]);
    }
  }
};

}  // namespace

TEST_CASE("SparCML's numbers: 8 values, indices and values of 4 bytes") {
  CHECK(!goes_dense(1 + 2, 8, 4, 4));
  CHECK(goes_dense(2 + 2, 8, 4, 4));
  // With the 2 bytes that positions of so short a range take here, five items stay sparse.
  const auto sparse = SparseStream<float>::of(8, 5), dense = SparseStream<float>::of(8, 6);
  CHECK(!sparse.dense);
  CHECK(sparse.bytes() == 24 + 16);
  CHECK(dense.dense);
  CHECK(dense.bytes() == 32);
  CHECK(SparseStream<float>::of(100000, 49999).bytes() == 200000 + 200000);
  CHECK(SparseStream<float>::of(100000, 50000).dense);
  CHECK(SparseStream<float>::of(0, 0).bytes() == 0);
}

TEST_CASE(
    "a sum becomes dense when the next stream might fill it, and is the dense sum throughout") {
  HostExecutor exec;
  constexpr std::size_t range = 24;  // 16 items of 6 bytes are as long as 24 values
  const auto nth = [](std::size_t first, std::size_t count) {
    std::vector<std::size_t> positions(count);
    for (std::size_t i = 0; i < count; ++i) positions[i] = first + i;
    return positions;
  };
  struct Case {
    std::vector<std::vector<std::size_t>> streams;
    bool dense;
    std::size_t items;
  };
  const std::vector<Case> cases{
      {{}, false, 0},
      {{{}, {}, {}}, false, 0},
      {{nth(0, 5), nth(10, 10)}, false, 15},
      {{nth(0, 5), nth(10, 11)}, true, range},
      {{nth(0, 7), nth(0, 7), nth(0, 7), nth(0, 7)}, false, 7},  // what is alike adds nothing
      {{nth(0, 8), nth(0, 8)}, true, range},                     // an upper bound: 8 in fact
      {{nth(8, 7), {23}, nth(0, 7)}, false, 15},
      {{{3}, nth(0, 20), {4, 23}}, true, range},
  };
  for (const Case& one : cases) {
    RangeSum<float, HostExecutor> sum;
    sum.begin(range);
    Vector expected(range);
    std::vector<bool> there(range);
    int rank = 0;
    for (const auto& positions : one.streams) {
      const Vector values = values_of<float>(rank++, range);
      const HostStream stream(values, positions);
      sum.add(exec, stream.stream);
      for (const std::size_t p : positions) expected[p] += values[p], there[p] = true;
    }
    CHECK(sum.dense() == one.dense);
    REQUIRE(sum.size() == one.items);
    Vector found(range);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const std::size_t p = sum.dense() ? i : sum.positions().at(i);
      CHECK((sum.dense() || there[p]));
      CHECK((sum.dense() || i == 0 || p > sum.positions().at(i - 1)));
      found[p] = sum.values()[i];
    }
    CHECK(same_bits(found, expected));
  }
}

TEST_CASE("an item stays where its sum becomes zero, and -0 becomes what a dense sum has") {
  HostExecutor exec;
  RangeSum<float, HostExecutor> sum;
  sum.begin(100);
  const HostStream a(Vector(100, 2.0f), {4, 7}), b(Vector(100, -2.0f), {4});
  sum.add(exec, a.stream);
  sum.add(exec, b.stream);
  REQUIRE(sum.size() == 2);
  CHECK(sum.values()[0] == 0.0f);
  CHECK(sum.positions().at(0) == 4);
  const HostStream c(Vector(100, -0.0f), {50});
  sum.add(exec, c.stream);
  CHECK(!std::signbit(sum.values()[2]));
}

TEST_CASE("the sum of what ranks choose is the dense one, bit for bit, sparse or not") {
  for (const int ranks : {1, 2, 3, 4, 5, 7}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      for (const std::size_t n : {1u, 2u, 6u, 64u, 65u, 1000u}) {
        for (const std::size_t k : {std::size_t{1}, n / 20 + 1, n / 3 + 1, n}) {
          Streams<TopK> reduce{backend, {.policy = {.k = k, .scope = Scope::global}}};
          for (int step = 0; step < 2; ++step) {
            Vector x = values_of<float>(rank + 10 * step, n);
            const Report report = reduce(x);
            CHECK(same_bits(x, mean_of_largest<float>(ranks, step, n, k)));
            CHECK(report.kept == std::min(k, n));
            CHECK(report.path == Path::packed);
          }
        }
      }
    });
  }
}

TEST_CASE_TEMPLATE("values of any type travel in it, and are rounded once", T, float16, bfloat16,
                   double) {
  with_ranks(3, [](HostBackend& backend, int rank) {
    Streams<TopK> reduce{backend, {.policy = {.k = 20}}};
    Streams<TopK, ErrorFeedback> remember{backend, {.policy = {.k = 20}}};
    auto x = values_of<T>(rank, 300), y = x;
    reduce(std::vector<T>(300));  // agrees
    const Report report = reduce(x);
    const auto expected = mean_of_largest<T>(3, 0, 300, 20);
    CHECK(same_bits(x, expected));
    remember(y);
    CHECK(same_bits(y, expected));
    // Three counts of items that go out, three streams of at most 20 items, one of at most 60.
    CHECK(report.payload_bytes <= 3 * 14 + 20 * (2 + sizeof(T)) + 14 + 60 * (2 + sizeof(T)));
  });
}

TEST_CASE("bytes: counts, items to owners, counts, and sums to all; never more than dense") {
  with_ranks(4, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 400, own = 100;
    Streams<NonZero> reduce{backend};
    Vector x(n);
    reduce(x);                                    // agrees
    const std::uint64_t counts = 3 * 8 + 3 * 16;  // and flags
    x.assign(n, 0.0f);
    Report report = reduce(x);
    CHECK(report.bytes_sent == counts);

    for (std::size_t i = 0; i < n; i += 10) x[i] = static_cast<float>(rank + 1);
    report = reduce(x);  // ten items a range, the same on all ranks: sums have ten too
    CHECK(report.kept == n / 10);
    CHECK(x[0] == 2.5f);
    const std::uint64_t items = 10 * 4 + 24;  // 20 bytes of positions, padded
    CHECK(report.bytes_sent == counts + 3 * items + 3 * items);
    CHECK(report.payload_bytes == 4 * items + items);

    x.assign(n, 0.0f);  // 30 items a range each, elsewhere on each rank: sums become dense
    for (std::size_t i = 0; i < n; ++i) x[i] = i % 4 == static_cast<std::size_t>(rank) ? 1 : 0;
    report = reduce(x);
    CHECK(report.bytes_sent == counts + 3 * (25 * 4 + 4 + 56) + 3 * own * 4);

    x.assign(n, 1.0f);
    report = reduce(x);
    CHECK(report.bytes_sent == counts + 3 * own * 4 + 3 * own * 4);
    CHECK(report.bytes_sent == report.dense_bytes + counts);
  });
}

TEST_CASE("what is not chosen waits in the residual, and nothing is lost") {
  for (const int ranks : {2, 5}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      constexpr std::size_t n = 100;
      Streams<TopK, ErrorFeedback> reduce{
          backend, {.policy = {.k = 7}}, {}, {}, {.reduction = Reduction::sum}};
      std::vector<double> given(n), owed(n);
      for (int step = 0; step < 8; ++step) {
        for (int other = 0; other < ranks; ++other) {
          const auto theirs = values_of<float>(other + 10 * step, n);
          for (std::size_t i = 0; i < n; ++i) owed[i] += theirs[i];
        }
        Vector x = values_of<float>(rank + 10 * step, n);
        reduce(x);
        for (std::size_t i = 0; i < n; ++i) given[i] += x[i];
      }
      const Vector mine = residual_in<float>(saved(reduce), n);
      const auto all = gather_host_values(backend.executor(), backend.communicator(),
                                          std::span<const float>(mine));
      double waiting = 0;
      for (std::size_t i = 0; i < n; ++i) {
        double residual = 0;
        for (std::size_t r = 0; r < all.size() / n; ++r) residual += all[r * n + i];
        waiting += std::abs(residual);
        CHECK(std::abs(given[i] + residual - owed[i]) <= 1e-3);
      }
      CHECK(waiting > 100);
    });
  }
}

TEST_CASE("as a codec behind a pruning policy it chooses among survivors") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 130;
    std::vector<bool> flags(n);
    for (std::size_t i = 0; i < n; ++i) flags[i] = i % 2 == 0;
    OnThreads<Pruned, BitMask, SparseStreams<TopK>, ErrorFeedback> reduce{
        backend, Pruned::from_flags(flags), {.policy = {.k = 5}}};
    for (int step = 0; step < 3; ++step) {
      Vector x = values_of<float>(rank + 10 * step, n);
      for (std::size_t i = 1; i < n; i += 2) x[i] *= 1000;  // larger than any survivor
      CHECK(reduce(x).kept == 5);
      const Vector residual = residual_in<float>(saved(reduce), n);
      for (std::size_t i = 1; i < n; i += 2) CHECK((x[i] == 0 && residual[i] == 0));
      CHECK(std::ranges::count_if(x, [](float v) { return v != 0; }) >= 5);
    }
  });
}

TEST_CASE("a step that is refused leaves everything, and a state goes on") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    using R = Streams<TopK, ErrorFeedback>;
    R reduce{backend, {.policy = {.k = 3}}}, again{backend, {.policy = {.k = 3}}};
    Vector x = values_of<float>(rank, 50);
    reduce(x);
    const std::string before = saved(reduce);
    Vector bad = values_of<float>(rank + 1, 50);
    if (rank == 1) bad[7] = not_a_number;
    const Vector untouched = bad;
    CHECK_THROWS_AS(reduce(bad), StepRejected);
    CHECK(same_bits(bad, untouched));
    CHECK(saved(reduce) == before);
    restore(again, before);
    for (int step = 2; step < 5; ++step) {
      Vector a = values_of<float>(rank + 10 * step, 50), b = a;
      reduce(a);
      again(b);
      CHECK(same_bits(a, b));
    }
    R other{backend, {.policy = {.k = 4}}};
    CHECK_THROWS_AS(restore(other, before), StateError);
  });
}

TEST_CASE("sums beyond the type are refused, and what is not finite propagates uncoded") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    Streams<TopK> reduce{backend, {.policy = {.k = 3}}, {}, {}, {.reduction = Reduction::sum}};
    Vector x(50);
    x[3] = 3e38f;
    CHECK_THROWS_AS(reduce(x), StepRejected);
    Streams<TopK> propagate{
        backend, {.policy = {.k = 3}}, {}, {}, {.non_finite = NonFinite::propagate}};
    x = values_of<float>(rank, 50);
    if (rank == 1) x[7] = not_a_number;
    const Report report = propagate(x);
    CHECK(report.non_finite);
    CHECK(report.path == Path::uncoded);
    CHECK(std::isnan(x[7]));
    CHECK(!std::isnan(x[8]));
  });
}

TEST_CASE("a policy that fails on one rank fails the call on all") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    Streams<NthFails> reduce{backend, {.policy = {.fails = rank == 1}}};
    Vector x = values_of<float>(rank, 50);
    const Vector untouched = x;
    CHECK_THROWS_WITH_AS(reduce(x), doctest::Contains("this rank cannot choose"),
                         PreconditionError);
    CHECK(same_bits(x, untouched));
    CHECK(reduce.step() == 0);
  });
}

TEST_CASE("what a peer sends damaged is an error everywhere; nothing is read or written beyond") {
  /// What the second call throws on every rank.
  const auto errors = [](Damage damage) {
    std::atomic<int> count = 0;
    with_damage(damage, [&](DamagedBackend& backend, int rank) {
      SparseAllReduce<SparseStreams<TopK>, IndexMask, DamagedBackend> reduce{backend,
                                                                             {.policy = {.k = 6}}};
      Vector x = values_of<float>(rank, 100);
      reduce(x);
      backend.communicator().arm();
      const Vector before = x = values_of<float>(rank, 100);
      try {
        reduce(x);
      } catch (const BackendError&) {
        count += same_bits(x, before) ? 1 : 100;
      } catch (const Error&) {
      }
    });
    return count.load();
  };
  CHECK(errors({}) == 0);
  CHECK(errors({.all_to_all = 0, .byte = 6}) == 3);  // a count of more items than there are
  CHECK(errors({.all_gather = 0, .byte = 6}) == 3);
  std::size_t seen = 0;
  for (std::size_t byte = 0; byte < 48; ++byte) {
    for (const char bits : {'\x01', '\x40'}) {  // of values and positions
      seen += errors({.all_to_all = 1, .byte = byte, .bits = bits}) == 3 ? 1 : 0;
      seen += errors({.all_gather = 1, .byte = byte, .bits = bits}) == 3 ? 1 : 0;
    }
  }
  CHECK(seen > 20);
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums by owners that a hash says, with bitmaps over what they own.
#include <pipeline/choices.hpp>
#include <pipeline/damage.hpp>
#include <pipeline/support.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/hashed.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/non_zero.hpp>
#include <pactrain/policy/pruned.hpp>
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
using ByHash = OnThreads<Hashed<P>, BitMask, Identity, F>;

}  // namespace

TEST_CASE(
    "owners' positions are all positions, each once, and ascend; load is even where it is dense") {
  HostExecutor exec;
  HashedOrder<HostExecutor> order;
  for (const std::size_t ranks : {1u, 2u, 3u, 8u}) {
    for (const std::size_t n : {0u, 1u, 257u, 100000u}) {
      order.lay_out(exec, n, ranks);
      REQUIRE(order.cuts().size() == ranks + 1);
      CHECK(order.cuts().back() == n);
      std::vector<int> seen(n);
      std::size_t wrong = 0;
      for (std::size_t r = 0; r < ranks; ++r) {
        for (std::size_t i = order.cuts()[r]; i < order.cuts()[r + 1]; ++i) {
          const std::size_t position = order.order().at(i);
          ++seen[position];
          wrong += kernel::hashed_owner(position, ranks) != r ? 1 : 0;
          wrong += i > order.cuts()[r] && order.order().at(i - 1) >= position ? 1 : 0;
        }
      }
      CHECK(wrong == 0);
      CHECK(std::ranges::count(seen, 1) == static_cast<long>(n));
    }
  }
  // Zen's case: a thousand positions that stand together, of 10^5, for 8 owners.
  std::vector<std::size_t> load(8);
  for (std::size_t i = 30000; i < 31000; ++i) ++load[kernel::hashed_owner(i, 8)];
  CHECK(std::ranges::max(load) < 125 * 13 / 10);
}

TEST_CASE("a bitmap is sent where it is shorter than positions, and values where those are") {
  // 16 words of 8 bytes for 1000 positions; an item's position takes 2.
  CHECK(!OwnedSums<float>::of(1000, 64, false, true).bits);
  CHECK(OwnedSums<float>::of(1000, 64, false, true).bytes() == 64 * 6);
  CHECK(OwnedSums<float>::of(1000, 68, false, true).bits);
  CHECK(OwnedSums<float>::of(1000, 68, false, true).bytes() == 68 * 4 + 128);
  CHECK(!OwnedSums<float>::of(1000, 1000, true, true).bits);
  CHECK(OwnedSums<float>::of(1000, 1000, true, true).bytes() == 4000);
}

TEST_CASE_TEMPLATE("the sum is that of sparse streams, bit for bit", T, float, float16, double) {
  for (const int ranks : {1, 2, 3, 4, 5, 7}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      for (const std::size_t n : {1u, 7u, 65u, 1000u}) {
        for (const std::size_t k : {std::size_t{1}, n / 8 + 1, n / 2 + 1}) {
          const TopK policy{.k = k, .scope = Scope::global};
          ByHash<TopK> hashed{backend, {.policy = policy}};
          OnThreads<SparseStreams<TopK>, IndexMask> streams{backend, {.policy = policy}};
          for (int step = 0; step < 2; ++step) {
            auto x = values_of<T>(rank + 10 * step, n), y = x;
            CHECK(hashed(x).kept == std::min(k, n));
            streams(y);
            CHECK(same_bits(x, y));
          }
        }
      }
    });
  }
}

TEST_CASE("owners have equally much to do where choices stand together; bytes are counted") {
  with_ranks(4, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 8000, k = 400;
    ByHash<NonZero> hashed{backend};
    OnThreads<SparseStreams<NonZero>, IndexMask> streams{backend};
    std::uint64_t most_hashed = 0, most_streams = 0;
    for (int step = 0; step < 2; ++step) {
      Vector x(n);
      for (std::size_t i = 0; i < k; ++i) x[i] = static_cast<float>(rank + 1);
      Vector y = x;
      const std::uint64_t a = hashed(x).bytes_sent, b = streams(y).bytes_sent;
      CHECK(same_bits(x, y));
      CHECK(x[0] == 2.5f);  // position 0 is one as any other
      const std::uint64_t mine[] = {a, b};
      const auto all = gather_host_values(backend.executor(), backend.communicator(),
                                          std::span<const std::uint64_t>(mine));
      most_hashed = std::max({all[0], all[2], all[4], all[6]});
      most_streams = std::max({all[1], all[3], all[5], all[7]});
    }
    // k / 4 items of 6 bytes to three owners, and k / 4 to three others.
    CHECK(most_hashed < 2 * 3 * k / 4 * 6 * 13 / 10);
    CHECK(most_streams > 3 * k * 6);  // one rank owns them all
  });
}

TEST_CASE("bitmaps travel, and nothing is lost") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 1500;
    ByHash<TopK, ErrorFeedback> reduce{
        backend, {.policy = {.k = 110}}, {}, {}, {.reduction = Reduction::sum}};
    std::vector<double> given(n), owed(n);
    for (int step = 0; step < 8; ++step) {
      for (int other = 0; other < 3; ++other) {
        const auto theirs = values_of<float>(other + 10 * step, n);
        for (std::size_t i = 0; i < n; ++i) owed[i] += theirs[i];
      }
      Vector x = values_of<float>(rank + 10 * step, n);
      const Report report = reduce(x);
      for (std::size_t i = 0; i < n; ++i) given[i] += x[i];
      const auto sums =
          static_cast<std::size_t>(std::ranges::count_if(x, [](float v) { return v != 0; }));
      // Items would take 6 bytes each; in bits, a sum takes 4 and a word has 64 positions.
      CHECK(report.payload_bytes < 110 * 6 + 3 * 14 + sums * 5 / 3 + n / 20);
    }
    const Vector mine = residual_in<float>(saved(reduce), n);
    const auto all = gather_host_values(backend.executor(), backend.communicator(),
                                        std::span<const float>(mine));
    for (std::size_t i = 0; i < n; ++i) {
      const double residual = double(all[i]) + double(all[n + i]) + double(all[2 * n + i]);
      CHECK(std::abs(given[i] + residual - owed[i]) <= 1e-3);
    }
  });
}

TEST_CASE("pruned, refused, saved, and not finite") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    std::vector<bool> flags(130);
    for (std::size_t i = 0; i < 130; ++i) flags[i] = i % 2 == 0;
    using R = OnThreads<Pruned, BitMask, Hashed<TopK>, ErrorFeedback>;
    R reduce{backend, Pruned::from_flags(flags), {.policy = {.k = 5}}};
    R again{backend, Pruned::from_flags(flags), {.policy = {.k = 5}}};
    Vector x = values_of<float>(rank, 130);
    CHECK(reduce(x).kept == 5);
    for (std::size_t i = 1; i < 130; i += 2) CHECK(x[i] == 0);
    const std::string before = saved(reduce);
    Vector bad = values_of<float>(rank + 1, 130);
    if (rank == 1) bad[8] = not_a_number;
    const Vector untouched = bad;
    CHECK_THROWS_AS(reduce(bad), StepRejected);
    CHECK(same_bits(bad, untouched));
    CHECK(saved(reduce) == before);
    restore(again, before);
    Vector a = values_of<float>(rank + 2, 130), b = a;
    reduce(a);
    again(b);
    CHECK(same_bits(a, b));

    ByHash<TopK> propagate{
        backend, {.policy = {.k = 3}}, {}, {}, {.non_finite = NonFinite::propagate}};
    x = values_of<float>(rank, 50);
    if (rank == 1) x[7] = not_a_number;
    CHECK(propagate(x).path == Path::uncoded);
    CHECK(std::isnan(x[7]));
  });
}

TEST_CASE("a policy that fails on one rank fails the call on all") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    ByHash<CannotChoose> reduce{backend, {.policy = {.fails = rank == 1}}};
    Vector x = values_of<float>(rank, 50);
    CHECK_THROWS_WITH_AS(reduce(x), doctest::Contains("this rank cannot choose"),
                         PreconditionError);
  });
}

TEST_CASE("what a peer sends damaged is an error everywhere; nothing is read or written beyond") {
  const auto errors = [](Damage damage, std::size_t k) {
    std::atomic<int> count = 0;
    with_damage(damage, [&](DamagedBackend& backend, int rank) {
      SparseAllReduce<Hashed<TopK>, BitMask, DamagedBackend> reduce{backend, {.policy = {.k = k}}};
      Vector x = values_of<float>(rank, 300);
      reduce(x);
      backend.communicator().arm();
      const Vector before = x = values_of<float>(rank, 300);
      try {
        reduce(x);
      } catch (const BackendError&) {
        count += same_bits(x, before) ? 1 : 100;
      } catch (const Error&) {
      }
    });
    return count.load();
  };
  for (const std::size_t k : {3u, 25u}) {  // items, and bits
    CHECK(errors({}, k) == 0);
    CHECK(errors({.all_to_all = 0, .byte = 6}, k) == 3);
    CHECK(errors({.all_gather = 0, .byte = 6}, k) == 3);
    int seen = 0;
    for (std::size_t byte = 0; byte < 130; byte += 3) {
      seen += errors({.all_to_all = 1, .byte = byte, .bits = '\x40'}, k) == 3 ? 1 : 0;
      seen += errors({.all_gather = 1, .byte = byte, .bits = '\x40'}, k) == 3 ? 1 : 0;
    }
    CHECK(seen >= 2);
  }
}

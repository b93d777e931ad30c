// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions as Bloom filters.
#include <pipeline/choices.hpp>
#include <pipeline/damage.hpp>
#include <pipeline/support.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/gathered.hpp>
#include <pactrain/mask/bloom_mask.hpp>
#include <pactrain/policy/non_zero.hpp>
#include <pactrain/policy/top_k.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::residual_in;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;
using Mask = BloomMask::on<HostExecutor>;

struct Chosen {
  const std::vector<bool>* kept;
  bool operator()(std::size_t i) const { return (*kept)[i]; }
};
/// `count` of `n` positions, spread by chance.
std::vector<bool> some(std::size_t count, std::size_t n) {
  std::vector<bool> kept(n);
  for (std::size_t i = 0; count > 0; ++i) {
    const std::size_t at = kernel::mix(i, 3) % n;
    if (kept[at]) continue;
    kept[at] = true;
    --count;
  }
  return kept;
}
template <class M>
void assign(M& mask, const std::vector<bool>& kept, const Model& model) {
  HostExecutor exec;
  mask.begin(exec, model);
  std::vector<Piece<const float>> pieces;
  cut<const float>(model, 0, model.size(), nullptr, pieces);
  for (const auto& piece : pieces) {
    const std::vector<bool> part(kept.begin() + static_cast<long>(piece.first),
                                 kept.begin() + static_cast<long>(piece.first + piece.size));
    mask.assign(exec, piece, Chosen{&part});
  }
  mask.end(exec);
}
Model model_of_size(std::size_t n) {
  Model model;
  model.add("a", n / 3);
  model.add("b", n - n / 3);
  return model;
}

}  // namespace

TEST_CASE("DeepReduce's numbers: 10^4 of 10^6 positions at a rate of 1e-3") {
  constexpr std::size_t n = 1000000, r = 10000;
  CHECK(BloomShape::of(r, n, 1000).hashes == 10);
  CHECK(BloomShape::of(r, n, 1000).bits == 143776);  // 17972 bytes, for 40000 of 32-bit indices
  CHECK(BloomShape::of(r, n, 0).bits == 143776);     // 0.1 r / n is 1e-3 here
  CHECK(BloomShape::of(0, n, 0).bits == 0);

  Mask mask;
  const auto kept = some(r, n);
  assign(mask, kept, model_of_size(n));
  CHECK(mask.asked() == r);
  CHECK(mask.positions().size() == 16 + 17976);  // in words
  CHECK(mask.count() > 10990 - 100);
  CHECK(mask.count() < 10990 + 100);  // 10990 are to be expected, to a deviation of 32
  std::size_t missing = 0;
  for (std::size_t i = 0; i < n; ++i) missing += kept[i] && !mask.keep()(i) ? 1 : 0;
  CHECK(missing == 0);
}

TEST_CASE("none that was asked for is missing, and the other end lets the same through") {
  HostExecutor exec;
  for (const std::size_t n : {1u, 2u, 64u, 65u, 256u, 257u, 5000u, 70000u}) {
    const Model model = model_of_size(n);
    for (const std::size_t r : {std::size_t{0}, std::size_t{1}, n / 50, n / 2, n}) {
      auto kept = some(std::min(r, n), n);
      if (r == 1) kept.assign(n, false), kept[n - 1] = true;  // the last; elsewhere the first
      if (r > 1) kept[0] = true;
      Mask mask, other;
      assign(mask, kept, model);
      std::size_t missing = 0;
      for (std::size_t i = 0; i < n; ++i) missing += kept[i] && !mask.keep()(i) ? 1 : 0;
      CHECK(missing == 0);
      CHECK(mask.count() >= mask.asked());
      if (r == 0) CHECK(mask.count() == 0);
      const std::vector<std::byte> wire(mask.positions().begin(), mask.positions().end());
      other.receive(exec, model, wire);
      CHECK(other.count() == mask.count());
      std::size_t different = 0;
      for (std::size_t i = 0; i < n; ++i) different += mask.keep()(i) != other.keep()(i) ? 1 : 0;
      CHECK(different == 0);
      CHECK(mask.slot(exec, n) == mask.count());
    }
  }
}

TEST_CASE("a lower rate costs bits and lets fewer through") {
  const Model model = model_of_size(100000);
  const auto kept = some(2000, 100000);
  BloomMaskOf<10>::on<HostExecutor> loose;
  BloomMaskOf<10000>::on<HostExecutor> tight;
  assign(loose, kept, model);
  assign(tight, kept, model);
  CHECK(loose.count() > 2000 + 9800 * 8 / 10);
  CHECK(loose.count() < 2000 + 9800 * 12 / 10);
  CHECK(tight.count() < 2000 + 40);  // 10 expected
  CHECK(tight.positions().size() > 3 * loose.positions().size());
}

TEST_CASE_TEMPLATE("the sum is that of the dense values at what ranks' filters let through", T,
                   float, float16, double) {
  for (const int ranks : {1, 2, 3, 4, 5, 7}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      constexpr std::size_t n = 900, k = 60;
      const Model model = model_of_size(n);
      OnThreads<Gathered<TopK>, BloomMask> reduce{
          backend, {.k = k, .scope = Scope::global}, {}, {}, {.reduction = Reduction::sum}};
      for (int step = 0; step < 2; ++step) {
        std::vector<arithmetic_t<T>> sum(n);
        std::size_t own = 0;
        for (int other = 0; other < ranks; ++other) {
          const auto theirs = values_of<T>(other + 10 * step, n);
          const auto kept = largest(theirs, k);
          Mask mask;
          assign(mask, kept, model);
          if (other == rank) own = mask.count();
          for (std::size_t i = 0; i < n; ++i) {
            if (mask.keep()(i)) sum[i] += static_cast<arithmetic_t<T>>(theirs[i]);
          }
        }
        std::vector<T> expected(n);
        for (std::size_t i = 0; i < n; ++i) expected[i] = static_cast<T>(sum[i]);
        auto x = values_of<T>(rank + 10 * step, n);
        const Report report = reduce(x);
        CHECK(same_bits(x, expected));
        CHECK(report.kept == own);
        CHECK(own >= k);
        if (step == 0) continue;
        const auto shape = BloomShape::of(k, n, 0);
        const std::size_t positions = 16 + kernel::words_for(shape.bits) * 8;
        const std::size_t wire = 8 + positions + own * sizeof(T);
        CHECK(report.payload_bytes == (wire + 7) / 8 * 8 + 8);
        CHECK(report.bytes_sent == std::uint64_t(ranks - 1) * (report.payload_bytes + 8));
      }
    });
  }
}

TEST_CASE("what passes by chance is conveyed too, the rest remains, and nothing is lost") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 300;
    OnThreads<Gathered<TopK>, BloomMaskOf<8>, Int8, ErrorFeedback> reduce{
        backend, {.k = 20}, {}, {}, {.reduction = Reduction::sum}};
    std::vector<double> given(n), owed(n);
    for (int step = 0; step < 8; ++step) {
      for (int other = 0; other < 3; ++other) {
        const Vector theirs = values_of<float>(other + 10 * step, n);
        for (std::size_t i = 0; i < n; ++i) owed[i] += theirs[i];
      }
      Vector x = values_of<float>(rank + 10 * step, n);
      CHECK(reduce(x).kept > 20);
      for (std::size_t i = 0; i < n; ++i) given[i] += x[i];
    }
    const Vector mine = residual_in<float>(saved(reduce), n);
    const auto all = gather_host_values(backend.executor(), backend.communicator(),
                                        std::span<const float>(mine));
    for (std::size_t i = 0; i < n; ++i) {
      const double residual = double(all[i]) + double(all[n + i]) + double(all[2 * n + i]);
      CHECK(std::abs(given[i] + residual - owed[i]) <= 2e-3);
    }
  });
}

TEST_CASE("a step that is refused leaves everything, nothing may be chosen, and a NaN propagates") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    using R = OnThreads<Gathered<TopK>, BloomMask, Identity, ErrorFeedback>;
    R reduce{backend, {.k = 3}}, again{backend, {.k = 3}};
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
    Vector a = values_of<float>(rank + 2, 50), b = a;
    reduce(a);
    again(b);
    CHECK(same_bits(a, b));

    OnThreads<Gathered<NonZero>, BloomMask> sparse{
        backend, {}, {}, {}, {.non_finite = NonFinite::propagate}};
    x.assign(50, 0.0f);
    CHECK(sparse(x).kept == 0);
    CHECK(same_bits(x, Vector(50)));
    if (rank == 1) x[7] = not_a_number;
    CHECK(sparse(x).non_finite);
    CHECK(std::isnan(x[7]));
  });
}

TEST_CASE("filters that cannot be are refused") {
  HostExecutor exec;
  const Model model = model_of_size(500);
  Mask mask, other;
  assign(mask, some(20, 500), model);
  const std::vector<std::byte> wire(mask.positions().begin(), mask.positions().end());
  for (std::size_t size = 0; size < wire.size(); ++size) {
    const std::vector<std::byte> cut(wire.begin(), wire.begin() + static_cast<long>(size));
    CHECK_THROWS_AS(other.receive(exec, model, cut), BackendError);
  }
  const auto with = [&](std::uint64_t bits, std::uint64_t hashes) {
    auto damaged = wire;
    std::memcpy(damaged.data(), &bits, 8);
    std::memcpy(damaged.data() + 8, &hashes, 8);
    other.receive(exec, model, damaged);
  };
  const std::uint64_t most = (wire.size() - 16) * 8;
  for (const std::uint64_t bits : {std::uint64_t{0}, most - 64, most + 1, ~std::uint64_t{0}}) {
    CHECK_THROWS_AS(with(bits, 4), BackendError);
  }
  CHECK_THROWS_AS(with(most, 0), BackendError);
  CHECK_THROWS_AS(with(most, 65), BackendError);
  with(most, 64);
  CHECK(other.count() <= 500);

  // A filter that lets more through than there are values is found by all ranks.
  const auto errors = [](Damage damage) {
    std::atomic<int> count = 0;
    with_damage(damage, [&](DamagedBackend& backend, int rank) {
      SparseAllReduce<Gathered<TopK>, BloomMask, DamagedBackend> reduce{backend, {.k = 6}};
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
  int seen = 0;
  for (std::size_t byte = 0; byte < 40; ++byte) {
    seen += errors({.all_gather = 1, .byte = byte, .bits = '\x10'}) == 3 ? 1 : 0;
  }
  CHECK(seen > 20);
}

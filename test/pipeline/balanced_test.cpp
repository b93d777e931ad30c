// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ok-Topk: the largest sums of ranks' largest values, by thresholds that are used again and regions
// that spread the work.
#include <pipeline/choices.hpp>
#include <pipeline/damage.hpp>
#include <pipeline/support.hpp>

#include <pactrain/balanced.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/top_k.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::residual_in;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;
template <class F = NoFeedback>
using Top = OnThreads<Balanced<TopK>, IndexMask, Identity, F>;

TopK largest(std::size_t k) { return {.k = k, .scope = Scope::global}; }

/// A stationary stream: magnitudes of one distribution, anew at every step.
Vector stream(int rank, int step, std::size_t n) {
  Vector x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t seed = static_cast<std::uint64_t>(1000 * step + rank);
    const std::uint64_t random = kernel::mix(kernel::mix(seed, 5), i);
    const double u = (static_cast<double>(random >> 12) + 1) * 0x1p-52;
    x[i] = static_cast<float>((random & 1) != 0 ? std::log(u) : -std::log(u));
  }
  return x;
}
std::size_t non_zeros(const Vector& x) {
  return static_cast<std::size_t>(std::ranges::count_if(x, [](float v) { return v != 0; }));
}

}  // namespace

TEST_CASE("Ok-Topk's worked example: two ranks, two of eight, even regions") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    Top<ErrorFeedback> reduce{backend, {.policy = largest(2), .region_period = 0}};
    Vector x = rank == 0 ? Vector{5, 0, 0, 1, 0, 0, 4, 0} : Vector{0, 3, 0, 0, 0, 6, 0, 2};
    CHECK(reduce(x).kept == 2);
    CHECK(x == Vector{2.5, 0, 0, 0, 0, 3, 0, 0});
    const Vector left = residual_in<float>(saved(reduce), 8);
    // Chosen and not among the largest sums: it stays, as what was not chosen does.
    CHECK(left == (rank == 0 ? Vector{0, 0, 0, 1, 0, 0, 4, 0} : Vector{0, 3, 0, 0, 0, 0, 0, 2}));
  });
}

TEST_CASE("the sums are those of the chosen values, and the largest of them arrive, on all ranks") {
  for (const int ranks : {1, 2, 3, 4, 5, 7}) {
    for (const std::size_t n : {2u, 7u, 65u, 1000u}) {
      with_ranks(ranks, [&](HostBackend& backend, int rank) {
        const std::size_t k = n / 8 + 1;
        Top<> reduce{backend,
                     {.policy = largest(k), .threshold_period = 1, .region_period = 2},
                     {},
                     {},
                     {.reduction = Reduction::sum}};
        for (int step = 0; step < 4; ++step) {
          std::vector<Vector> all;
          Vector sum(n);
          for (int other = 0; other < ranks; ++other) {
            all.push_back(values_of<float>(other + 10 * step, n));
            const auto chosen = pactrain::test::largest(all.back(), k);
            for (std::size_t i = 0; i < n; ++i) sum[i] += chosen[i] ? all.back()[i] : 0.0f;
          }
          const auto arrived = pactrain::test::largest(sum, k);
          Vector expected(n);
          for (std::size_t i = 0; i < n; ++i) expected[i] = arrived[i] ? sum[i] : 0.0f;

          Vector x = all[static_cast<std::size_t>(rank)];
          CHECK(reduce(x).kept == k);
          CHECK(same_bits(x, expected));
        }
      });
    }
  }
}

TEST_CASE_TEMPLATE("with k of all values, and in dense steps, it is the dense mean, exactly", T,
                   float, float16, bfloat16, double) {
  for (const int ranks : {2, 3, 5}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      constexpr std::size_t n = 103;
      Top<ErrorFeedback> all{backend, {.policy = largest(2 * n)}};
      Top<ErrorFeedback> first{backend, {.policy = largest(3), .dense_steps = 3}};
      for (int step = 0; step < 3; ++step) {
        std::vector<arithmetic_t<T>> sum(n);
        for (int other = 0; other < ranks; ++other) {
          const auto theirs = values_of<T>(other + 10 * step, n);
          for (std::size_t i = 0; i < n; ++i) sum[i] += static_cast<arithmetic_t<T>>(theirs[i]);
        }
        std::vector<T> expected(n);
        for (std::size_t i = 0; i < n; ++i) {
          expected[i] = static_cast<T>(sum[i] / static_cast<arithmetic_t<T>>(ranks));
        }
        auto x = values_of<T>(rank + 10 * step, n), y = x;
        all(x);
        const Report report = first(y);
        CHECK(same_bits(x, expected));
        CHECK(same_bits(y, expected));
        if (step > 0) {  // counts, twice, and what a dense sum sends
          const auto counts = static_cast<std::uint64_t>((ranks - 1) * 24);
          CHECK(report.bytes_sent <= report.dense_bytes + counts + 8 * 2 * std::uint64_t(ranks));
        }
      }
      auto x = values_of<T>(rank, n);
      CHECK(first(x).kept == 3);
    });
  }
}

TEST_CASE("error feedback: what was not conveyed is what remains, on all ranks together") {
  for (const int ranks : {1, 2, 3, 4, 5, 7}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      constexpr std::size_t n = 400;
      Top<ErrorFeedback> reduce{
          backend,
          {.policy = largest(20), .threshold_period = 4, .region_period = 3, .dense_steps = 1},
          {},
          {},
          {.reduction = Reduction::sum}};
      std::vector<double> given(n), owed(n);
      for (int step = 0; step < 12; ++step) {
        for (int other = 0; other < ranks; ++other) {
          const Vector theirs = stream(other, step, n);
          for (std::size_t i = 0; i < n; ++i) owed[i] += theirs[i];
        }
        Vector x = stream(rank, step, n);
        reduce(x);
        for (std::size_t i = 0; i < n; ++i) given[i] += x[i];
        CHECK(reducer::same_on_all(backend, reducer::hash(x)));
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

TEST_CASE("thresholds are exact every so many steps, and counts stay near k in between") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 20000, k = 600;
    Top<> reduce{backend, {.policy = largest(k), .threshold_period = 8}};
    int others = 0;
    for (int step = 0; step < 33; ++step) {
      Vector x = stream(rank, step, n);
      const std::size_t chosen = reduce(x).kept, arrived = non_zeros(x);
      if (step % 8 == 0) {
        CHECK(chosen == k);
        CHECK(arrived == k);
      } else {
        others += chosen != k && arrived != k ? 1 : 0;
        CHECK(within_a_third(chosen, k));
        CHECK(within_a_third(arrived, k));
      }
    }
    CHECK(others > 20);
  });
}

TEST_CASE("a threshold follows a stream that fades or grows, and a burst is cut at once") {
  with_ranks(4, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 5000, k = 200;
    Top<> still{backend, {.policy = largest(k), .threshold_period = 1000, .local_drift = 1.0}};
    Top<> moving{backend, {.policy = largest(k), .threshold_period = 1000, .local_drift = 1.1}};
    std::size_t unmoved = 0, moved = 0;
    for (int step = 0; step < 40; ++step) {
      Vector x = stream(rank, step, n);
      for (float& value : x) value *= std::pow(0.95f, static_cast<float>(step));
      Vector y = x;
      unmoved = still(x).kept;
      moved = moving(y).kept;
    }
    CHECK(unmoved < k / 3);
    CHECK(moved > k / 3);
    Vector x = stream(rank, 77, n);
    for (float& value : x) value *= 100;
    Vector y = x;
    CHECK(moving(x).kept == k);   // found anew, since raising it by 3 % does not do
    CHECK(non_zeros(x) > 2 * k);  // the sums' is found anew in the next step
    moving(y);
    CHECK(non_zeros(y) == k);
  });
}

TEST_CASE("a rank sends under 6k words, however many ranks there are") {
  for (const int ranks : {2, 4, 7}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      constexpr std::size_t n = 30000, k = 900;
      Top<> reduce{backend, {.policy = largest(k)}};
      const auto p = static_cast<std::uint64_t>(ranks);
      // A word is half an item of 2 bytes of position and 4 of value. Beside them go counts, 8 and
      // 16 bytes, to every other rank, and up to 14 bytes of padding for each of 3 P streams.
      const std::uint64_t bound = 6 * k * (2 + 4) / 2 * (p - 1) / p + (p - 1) * 24 + 3 * p * 14;
      std::uint64_t most = 0;
      for (int step = 0; step < 20; ++step) {
        Vector x = stream(rank, step, n);
        const Report report = reduce(x);
        // The first step agrees, cuts regions and finds thresholds; for that all sums travel.
        if (step > 0) most = std::max(most, report.bytes_sent);
      }
      CHECK(most < bound);
      CHECK(most > bound / 3);
    });
  }
}

TEST_CASE("regions spread the work where large values stand together, and partition the vector") {
  with_ranks(4, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 8000, k = 400;
    const auto skewed = [&](int step) {
      Vector x = stream(rank, step, n);
      for (std::size_t i = 0; i < n; ++i) x[i] *= i < n / 10 ? 100.0f : 0.01f;
      return x;
    };
    Top<> even{backend, {.policy = largest(k), .region_period = 0}};
    Top<> cut{backend, {.policy = largest(k), .region_period = 4}};
    std::uint64_t unspread = 0, spread = 0;
    for (int step = 0; step < 8; ++step) {
      Vector x = skewed(step), y = x;
      const std::uint64_t a = even(x).payload_bytes, b = cut(y).payload_bytes;
      CHECK(same_bits(x, y));
      if (step == 0) continue;
      unspread = std::max(unspread, a);
      spread = std::max(spread, b);
    }
    // Items to owners, of which an owner of everything gets 4 k; then k / 4 to all.
    const auto all = [&](std::uint64_t mine) {
      return gather_host_values(backend.executor(), backend.communicator(),
                                std::span<const std::uint64_t>(&mine, 1));
    };
    const auto most = [&](std::uint64_t mine) { return std::ranges::max(all(mine)); };
    CHECK(most(unspread) > (k + k) * 6);              // one rank had all sums to hand out
    CHECK(most(spread) < (k + k / 4) * 6 * 13 / 10);  // k / 4 each
  });
}

TEST_CASE("what goes to all is spread evenly, where one rank has most of it") {
  with_ranks(4, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 8000, k = 400;
    // All items stand in the first of the even regions.
    Top<> reduce{backend, {.policy = largest(k), .region_period = 0}};
    Vector x;
    Report report;
    for (int step = 0; step < 3; ++step) {
      x = stream(rank, step, n);
      for (std::size_t i = n / 10; i < n; ++i) x[i] *= 0.001f;
      report = reduce(x);
    }
    CHECK(within_a_third(non_zeros(x), k));
    // Not spread, rank 0 would send 3 k items of 6 bytes to the others.
    CHECK(report.bytes_sent < (k + 3 * k / 4 + k) * 6);
  });
}

TEST_CASE("few values, equal ones, and zeros") {
  with_ranks(5, [](HostBackend& backend, int rank) {
    Top<> reduce{backend, {.policy = largest(3), .threshold_period = 2, .region_period = 1}};
    for (int step = 0; step < 6; ++step) {
      Vector x(64);
      CHECK(reduce(x).kept <= 4);
      CHECK(same_bits(x, Vector(64)));
    }
    for (int step = 0; step < 6; ++step) {
      Vector x(64, 1.0f);  // ties go by index
      CHECK(reduce(x).kept <= 4);
      CHECK(non_zeros(x) <= 4);
    }
    for (int step = 0; step < 6; ++step) {
      Vector x(64);
      x[static_cast<std::size_t>(rank)] = 5.0f;
      x[63] = -1.0f;
      reduce(x);
      CHECK(reducer::same_on_all(backend, reducer::hash(x)));
      CHECK(non_zeros(x) >= 1);
    }
    Vector none;
    Top<> empty{backend, {.policy = largest(3)}};
    empty(none);
  });
}

TEST_CASE("a step that is refused leaves no trace, and a state goes on between exact thresholds") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    using R = Top<ErrorFeedback>;
    const Balanced<TopK> options{.policy = largest(20), .threshold_period = 4, .region_period = 6};
    R reduce{backend, options}, again{backend, options}, clean{backend, options};
    for (int step = 0; step < 6; ++step) {
      Vector x = stream(rank, step, 500), y = x;
      reduce(x);
      clean(y);
      const std::string before = saved(reduce);
      Vector bad = stream(rank, 100 + step, 500);
      if (rank == step % 3) bad[499] = not_a_number;
      const Vector untouched = bad;
      CHECK_THROWS_AS(reduce(bad), StepRejected);
      CHECK(same_bits(bad, untouched));
      CHECK(saved(reduce) == before);
      CHECK(same_bits(x, y));
    }
    restore(again, saved(reduce));
    CHECK(saved(again) == saved(reduce));
    for (int step = 6; step < 12; ++step) {
      Vector x = stream(rank, step, 500), y = x, z = x;
      reduce(x);
      again(y);
      clean(z);
      CHECK(same_bits(x, y));
      CHECK(same_bits(x, z));
    }
    R other{backend, {.policy = largest(20), .threshold_period = 5, .region_period = 6}};
    CHECK_THROWS_AS(restore(other, saved(reduce)), StateError);
  });
}

TEST_CASE("a state whose thresholds or regions cannot be is refused, and changes nothing") {
  HostExecutor exec;
  Model model;
  model.add("a", 100);
  const auto loads = [&](BalancedMemory memory) {
    std::stringstream bytes;
    Writer writer(bytes);
    BalancedState<HostExecutor> state(0), read(0);
    state.commit(memory);
    state.save(exec, writer);
    Reader reader(bytes);
    try {
      read.load(exec, model, reader);
    } catch (const StateError&) {
      CHECK(read.memory().cuts.empty());
      return false;
    }
    return read.memory().cuts == memory.cuts && read.memory().local == memory.local;
  };
  CHECK(loads({}));
  CHECK(loads({.local = 0.5, .global = 2, .local_due = 7, .cuts = {0, 40, 40, 100}}));
  CHECK(!loads({.cuts = {0, 60, 40, 100}}));
  CHECK(!loads({.cuts = {1, 100}}));
  CHECK(!loads({.cuts = {0, 101}}));
  CHECK(!loads({.local = -1}));
  CHECK(!loads({.global = infinity}));
}

TEST_CASE("what is not finite propagates uncoded, and thresholds stay") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    Top<> reduce{backend, {.policy = largest(20)}, {}, {}, {.non_finite = NonFinite::propagate}};
    for (int step = 0; step < 4; ++step) {
      Vector x = stream(rank, step, 500);
      if (rank == 1 && step == 2) x[9] = not_a_number;
      const Report report = reduce(x);
      CHECK(report.non_finite == (step == 2));
      CHECK(std::isnan(x[9]) == (step == 2));
      CHECK((report.path == Path::uncoded) == (step == 2));
    }
  });
  with_ranks(2, [](HostBackend& backend, int rank) {
    Top<> reduce{backend, {.policy = largest(20)}, {}, {}, {.non_finite = NonFinite::ignore}};
    for (int step = 0; step < 4; ++step) {
      Vector x = stream(rank, step, 500);
      if (rank == 1 && step == 0) std::fill_n(x.begin(), 300, not_a_number);
      if (step == 1) x[4] = infinity;
      const std::size_t kept = reduce(x).kept;
      CHECK(kept > 0);
      CHECK(kept <= 27);
      CHECK(reducer::same_on_all(backend, reducer::hash(x)));
    }
  });
}

TEST_CASE("a started call may be polled, cancelled without a trace, and keeps its deadline") {
  std::latch gone(2);
  with_ranks(3, [&](HostBackend& backend, int rank) {
    using R = Top<ErrorFeedback>;
    // All items in one even region: they are spread before they go to all.
    const Balanced<TopK> options{.policy = largest(40), .threshold_period = 2, .region_period = 0};
    R at_once{backend, options}, started{backend, options};
    for (int step = 0; step < 5; ++step) {
      Vector x = stream(rank, step, 600);
      for (std::size_t i = 100; i < 600; ++i) x[i] *= 0.001f;
      Vector y = x;
      at_once(x);
      const std::string before = saved(started);
      const Vector untouched = y;
      if (step > 0) {
        Pending cancelled = started.start(y);
        cancelled.check();
        cancelled.cancel();
        CHECK(same_bits(y, untouched));
        CHECK(saved(started) == before);
      }
      Pending pending = started.start(y);
      for (int polls = 0; polls < 7 * rank; ++polls) pending.advance();
      pending.wait();
      CHECK(same_bits(x, y));
      CHECK(saved(started) == saved(at_once));
    }
    if (rank == 0) return gone.wait();  // it makes no call, until the others have given up
    Vector x = stream(rank, 9, 600);
    const Vector untouched = x;
    Pending late = started.start(x);
    CHECK_THROWS_AS(late.wait(std::chrono::milliseconds(20)), BackendError);
    CHECK(same_bits(x, untouched));
    gone.count_down();
  });
}

TEST_CASE("as a codec behind a pruning policy it chooses among survivors") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 300;
    std::vector<bool> flags(n);
    for (std::size_t i = 0; i < n; ++i) flags[i] = i % 2 == 0;
    OnThreads<Pruned, BitMask, Balanced<TopK>, ErrorFeedback> reduce{
        backend, Pruned::from_flags(flags), {.policy = largest(9)}};
    for (int step = 0; step < 5; ++step) {
      Vector x = stream(rank, step, n);
      for (std::size_t i = 1; i < n; i += 2) x[i] *= 1000;
      CHECK(reduce(x).kept <= 12);
      const Vector residual = residual_in<float>(saved(reduce), n);
      for (std::size_t i = 1; i < n; i += 2) CHECK((x[i] == 0 && residual[i] == 0));
      CHECK(non_zeros(x) > 0);
    }
  });
}

TEST_CASE("options that cannot be are refused") {
  HostBackend backend;
  const auto refuses = [&](Balanced<TopK> options, const char* words) {
    CHECK_THROWS_WITH_AS((Top<>{backend, options}), doctest::Contains(words), PreconditionError);
  };
  refuses({}, "either a fraction or a k");
  refuses({.policy = {.k = 3}}, "all values together");
  refuses({.policy = {.k = 3, .scope = Scope::global, .exempt = {"a"}}}, "exempt");
  refuses({.policy = largest(3), .threshold_period = 0}, "threshold_period");
  refuses({.policy = largest(3), .local_drift = 0.9}, "drift");
  refuses({.policy = largest(3), .global_drift = not_a_number}, "drift");
}

TEST_CASE("what a peer sends damaged is an error everywhere; nothing is read or written beyond") {
  /// How many ranks the third call fails on, with their gradients as they were.
  const auto errors = [](Damage damage) {
    std::atomic<int> count = 0;
    with_damage(damage, [&](DamagedBackend& backend, int rank) {
      SparseAllReduce<Balanced<TopK>, IndexMask, DamagedBackend> reduce{
          backend, {.policy = largest(6), .threshold_period = 2}};
      for (int step = 0; step < 2; ++step) {
        Vector x = stream(rank, step, 100);
        reduce(x);
      }
      backend.communicator().arm();
      Vector x = stream(rank, 2, 100);
      const Vector before = x;
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
  CHECK(errors({.all_to_all = 0, .byte = 6}) == 3);
  for (std::size_t gather : {0u, 2u}) CHECK(errors({.all_gather = gather, .byte = 6}) == 3);
  int seen = 0;
  for (std::size_t byte = 0; byte < 40; ++byte) {
    for (const char bits : {'\x01', '\x40'}) {
      seen += errors({.all_to_all = 1, .byte = byte, .bits = bits}) == 3 ? 1 : 0;
      for (std::size_t gather : {1u, 3u}) {
        seen += errors({.all_gather = gather, .byte = byte, .bits = bits}) == 3 ? 1 : 0;
      }
    }
  }
  CHECK(seen > 10);
}

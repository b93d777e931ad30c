// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/policies_made.hpp>
#include <suite/replica.hpp>
#include <suite/sparse_all_reduce_law.hpp>
#include <suite/sparse_all_reduce_refusals.hpp>

#include <pactrain/compress/cast.hpp>
#include <pactrain/compress/int4.hpp>
#include <pactrain/compress/int8.hpp>
#include <pactrain/compress/ternary.hpp>

#include <doctest/doctest.h>
#include <oracle.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// What every reducer must do, for any backend and any combination of parts: lossless ones bit for
/// bit as the dense sum, the others as near as their codecs allow; the same bits for any cut of the
/// gradient; reports that count; calls that complete or leave everything as it was.
namespace pactrain::test::reducer {

inline constexpr std::size_t sizes[] = {0, 1, 63, 64, 65, 1000};

/// All ranks' gradients of a step.
template <class C>
std::vector<std::vector<typename C::value>> all_values(int ranks, Step step, std::size_t n) {
  std::vector<std::vector<typename C::value>> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.push_back(values_of<typename C::value>(rank + 100 * static_cast<int>(step), n));
  }
  return all;
}
/// The dense sum or mean, bit for bit, where kept; zero elsewhere.
template <class T>
std::vector<T> dense(const std::vector<std::vector<T>>& all, const std::vector<bool>& kept,
                     Reduction reduction) {
  std::vector<T> result(kept.size()), each(all.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    for (std::size_t rank = 0; rank < all.size(); ++rank) each[rank] = all[rank][i];
    const std::span<const T> values(each);
    result[i] = reduction == Reduction::mean ? reduced(values, Mean{}) : reduced(values, Sum{});
  }
  return result;
}
template <class T>
std::vector<double> real(const std::vector<T>& values) {
  std::vector<double> reals;
  for (const T x : values) reals.push_back(static_cast<double>(static_cast<arithmetic_t<T>>(x)));
  return reals;
}
/// How far a mean may be from the true one, as a share of the largest value that was sent.
template <class C>
double slack() {
  double slack = sizeof(typename C::value) == 2 ? 0x1p-7 : 1e-6;
  if (std::same_as<typename C::codec, Int8>) slack += 1.01 / 254;
  if (std::same_as<typename C::codec, Int4>) slack += 1.01 / 8;
  if (std::same_as<typename C::codec, Ternary>) slack += 1;
  if (std::same_as<typename C::codec, Cast<bfloat16>>) slack += 0x1p-7;
  if (std::same_as<typename C::codec, Cast<float16>>) slack += 0x1p-10;
  return slack;
}
/// The largest difference, where both or neither must be a zero outside `kept`.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

/// Bytes of the vector that is summed, for `kept` entries in each part.
template <class C>
std::uint64_t payload_of(const std::vector<std::size_t>& kept) {
  using A = arithmetic_t<typename C::value>;
  std::size_t all = 0, blocks = 0, nibbles = 0;
  for (const std::size_t n : kept) {
    all += n;
    nibbles += (n + 1) / 2;
    blocks += (n + 255) / 256;
  }
  const std::size_t flag = C::learns ? 1 : 0;
  if (all == 0 && !C::learns) return 0;
  if (std::same_as<typename C::codec, Ternary>) return all;
  if (std::same_as<typename C::codec, Int8>) return (blocks * sizeof(A) + all + 7) / 8 * 8 + 8;
  if (std::same_as<typename C::codec, Int4>) return (blocks * sizeof(A) + nibbles + 7) / 8 * 8 + 8;
  if (std::same_as<typename C::codec, Identity>) return (all + flag) * sizeof(typename C::value);
  return (all + flag) * 2;
}
inline std::uint64_t all_reduce_bytes(std::size_t n, std::size_t width, int rank, int ranks) {
  const std::size_t own = share_of(n, rank, ranks).size();
  return width * (n - own + own * static_cast<std::size_t>(ranks - 1));
}

template <class C, class R>
void check_report(const R& replica, const Report& report, const std::vector<bool>& kept, Step step,
                  std::uint64_t sent) {
  using T = typename C::value;
  const std::size_t n = kept.size();
  std::vector<std::size_t> kept_of;
  std::size_t first = 0, all = 0;
  for (const std::size_t size : parts_of(n)) {
    const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(first);
    kept_of.push_back(static_cast<std::size_t>(
        std::count(begin, begin + static_cast<std::ptrdiff_t>(size), true)));
    all += kept_of.back();
    first += size;
  }
  const bool local = replica.ranks() == 1 && C::lossless && !C::remembers;
  const std::uint64_t payload = payload_of<C>(kept_of);
  CHECK(report.step == step);
  CHECK(report.entries == n);
  CHECK(report.kept == all);
  CHECK(report.payload_bytes == (local ? 0 : payload));
  CHECK(report.bytes_sent == sent);
  CHECK(report.dense_bytes == all_reduce_bytes(n, sizeof(T), replica.rank(), replica.ranks()));
  CHECK(report.path == (local ? Path::local : Path::packed));
  CHECK(!report.non_finite);
  if (C::shared && !C::redraws && C::lossless && step == 3 && all > 0) {  // nothing else is sent
    CHECK(sent ==
          all_reduce_bytes(payload / sizeof(T), sizeof(T), replica.rank(), replica.ranks()));
  }
}

/// Reduces the last part, then the others in reverse order; ends them the other way round.
template <class R>
void step_apart(R& replica, Step step) {
  replica.set(replica.values(step));
  auto parts = replica.parts();
  const std::vector last{parts.back()};
  parts.pop_back();
  std::reverse(parts.begin(), parts.end());
  Pending first = replica.reduce.start(last);
  first.advance();
  if (parts.empty()) {
    first.wait();
    return;
  }
  Pending second = replica.reduce.start(parts);
  for (int i = 0; i < 100 && !second.advance(); ++i) first.advance();
  const Report report = second.report();
  CHECK(report.step == step);
  CHECK(first.report().entries + report.entries == replica.size());
}

template <class C, World W>
void reduces_as_the_dense_sum(std::size_t n, double density, ReduceOptions options = {}) {
  on_each<W>([&](auto& backend) {
    using T = typename C::value;
    auto& comm = backend.communicator();
    CAPTURE(n);
    CAPTURE(density);
    CAPTURE(comm.size());
    using R = Replica<C, std::remove_reference_t<decltype(backend)>>;
    R whole(backend, n, density, options), cut(backend, n, density, options),
        apart(backend, n, density, options);
    Oracle oracle(comm.size(), n, options.reduction, C::remembers ? 1.0 : 0.0, C::drops);
    for (Step step = 0; step < 4; ++step) {
      whole.set(whole.values(step));
      const std::uint64_t before = comm.bytes_sent();
      const Report report = step == 0 ? whole.reduce(whole.parts()) : whole.reduce(whole.span());
      const std::uint64_t sent = comm.bytes_sent() - before;
      const std::vector<bool> kept = whole.kept();
      const std::vector<T> result = whole.get();
      check_report<C>(whole, report, kept, step, sent);
      CHECK(same_on_all(backend, hash(result)));

      const auto all = all_values<C>(comm.size(), step, n);
      if (C::lossless && (!C::remembers || step == 0)) {
        CHECK(same_bits(result, dense(all, kept, options.reduction)));
      }
      std::vector<std::vector<double>> gradients;
      for (const auto& values : all) gradients.push_back(real(values));
      const auto expected = oracle.step(gradients, kept);
      const double scale =
          (options.reduction == Reduction::sum ? comm.size() : 1) * 128.0 * double(step + 1);
      if (C::lossless || step == 0) CHECK(distance(real(result), expected) <= scale * slack<C>());
      for (std::size_t i = 0; i < n; ++i) {
        if (!kept[i] && std::bit_cast<bits_t<T>>(result[i]) != 0) FAIL_CHECK("entry ", i);
      }

      cut.set(cut.values(step));
      if (step == 0) cut.reduce(cut.parts());
      else cut.reduce(cut.odd_cuts());
      CHECK(same_bits(cut.get(), result));
      if (step == 0 || !C::shared || C::learns) apart.clean_step(step);
      else step_apart(apart, step);
      CHECK(same_bits(apart.get(), result));
    }
  });
}

template <class C, World W>
void reduces_at_every_size() {
  std::vector<double> densities{0.5};
  if (std::same_as<typename C::policy, Pruned>) densities = {0.0, -1.0, 0.01, 0.5, 1.0};
  for (const std::size_t n : sizes) {
    for (const double density : densities) reduces_as_the_dense_sum<C, W>(n, density);
  }
  reduces_as_the_dense_sum<C, W>(65, 0.5, {.reduction = Reduction::sum});
}

/// A rank that has no data adds zeros, whatever its gradient holds, and gets the result.
template <class C, World W>
void a_rank_may_have_nothing() {
  on_each<W>([&](auto& backend) {
    using T = typename C::value;
    constexpr std::size_t n = 65;
    const int ranks = backend.communicator().size();
    for (int idle = 0; idle < ranks; ++idle) {
      Replica<C, std::remove_reference_t<decltype(backend)>> replica(backend, n, 0.5);
      const bool nothing = replica.rank() == idle;
      const T nan = T(std::numeric_limits<float>::quiet_NaN());
      replica.set(nothing ? std::vector<T>(n, nan) : replica.values(0));
      replica.reduce(replica.parts(), nothing ? Contribution::nothing : Contribution::gradient);
      auto all = all_values<C>(ranks, 0, n);
      all[static_cast<std::size_t>(idle)].assign(n, T{});
      const auto expected = dense(all, replica.kept(), Reduction::mean);
      const auto result = replica.get();
      if (C::lossless) CHECK(same_bits(result, expected));
      CHECK(distance(real(result), real(expected)) <= 128 * slack<C>());
    }
  });
}

/// `C` on a world.
template <World W, class C>
struct On {
  using world = W;
  using combination = C;
};

TEST_CASE_TEMPLATE_DEFINE("SparseAllReduce", O, sparse_all_reduce_suite) {
  using W = typename O::world;
  using C = typename O::combination;
  SUBCASE("it reduces as the dense sum") { reduces_at_every_size<C, W>(); }
  SUBCASE("a rank may have nothing") { a_rank_may_have_nothing<C, W>(); }
  SUBCASE("a step is refused as a whole") { a_step_is_refused_as_a_whole<C, W>(); }
  SUBCASE("non-finite values propagate") { non_finite_values_propagate<C, W>(); }
  SUBCASE("wrong calls are refused") { wrong_calls_are_refused<C, W>(); }
  SUBCASE("ranks must agree on options") { ranks_must_agree_on_options<C, W>(); }
  SUBCASE("a state goes on bit for bit") { a_state_goes_on<C, W>(); }
  SUBCASE("a damaged state is refused") { a_damaged_state_is_refused<C, W>(); }
  SUBCASE("nothing is lost in silence") { nothing_is_lost<C, W>(); }
}

}  // namespace pactrain::test::reducer

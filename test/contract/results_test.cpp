// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every compressor gives: the same everywhere, the same again, near enough, and nothing lost.
#include <suite/sparse_all_reduce_law.hpp>

#include <contract/replica.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::contract;

namespace {

template <GradientValue T>
double real(T x) {
  return static_cast<double>(static_cast<arithmetic_t<T>>(x));
}
template <GradientValue T>
double largest(const std::vector<T>& x) {
  double largest = 0;
  for (const T& each : x) largest = std::max(largest, std::abs(real(each)));
  return largest;
}
/// What sums of values of this size may lose to the rounding of T.
template <GradientValue T>
double rounding(double size) {
  return size * (sizeof(T) == 8 ? 0x1p-50 : sizeof(T) == 4 ? 0x1p-21 : 0x1p-7);
}
template <GradientValue T>
bool is_plus_zero(T x) {
  return std::bit_cast<bits_t<T>>(x) == 0;
}

template <GradientValue T>
void cuts_do_not_matter(Team& backend, const System& system, const Shape& shape) {
  Replica<T> named(backend, system, shape), apart(backend, system, shape),
      odd(backend, system, shape, {}, 1), whole(backend, system, shape, {}, 3);
  for (Step step = 0; step < 4; ++step) {
    const auto& comm = backend.communicator();
    const std::uint64_t before = comm.bytes_sent();
    const auto [result, report] = named.reduce(named.gradient_of(named.rank(), step));
    CHECK(report.step == step);
    CHECK(report.entries == shape.size());
    CHECK(report.kept <= shape.size());
    if (!system.promises.shards) CHECK(report.bytes_sent == comm.bytes_sent() - before);
    CHECK(report.dense_bytes == all_reduce_bytes<T>(shape.size(), named.rank(), named.ranks()));
    CHECK(same_on_all(backend, result));
    CHECK(same_bits(apart.step(step, step == 0 ? Cut::by_name : Cut::apart), result));
    CHECK(same_bits(odd.step(step, step == 0 ? Cut::by_name : Cut::odd), result));
    CHECK(same_bits(whole.step(step, step == 0 ? Cut::by_name : Cut::whole), result));
    CHECK(named.reducer().step() == step + 1);
  }
}

/// Entries that the mask keeps are as near the dense mean as promised; those that were pruned are
/// zero, and so is what is zero on every rank.
template <GradientValue T>
void is_near_the_dense_mean(Team& backend, const System& system) {
  Replica<T> replica(backend, system, matrices);
  const auto ranks = static_cast<std::size_t>(replica.ranks());
  const auto zero = [](std::size_t i) { return i % 5 == 2; };
  std::vector<std::vector<T>> gradients;
  double size = 0;
  for (int rank = 0; rank < replica.ranks(); ++rank) {
    gradients.push_back(replica.gradient_of(rank, 0));
    for (std::size_t i = 0; i < replica.size(); ++i) {
      if (zero(i)) gradients.back()[i] = T{};
    }
    size = std::max(size, largest(gradients.back()));
  }
  const auto result = replica.reduce(gradients[static_cast<std::size_t>(replica.rank())]).values;
  const auto kept = replica.kept();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < replica.size(); ++i) {
    double mean = 0;
    for (const auto& gradient : gradients) mean += real(gradient[i]) / double(ranks);
    const double error = std::abs(real(result[i]) - mean);
    if (!system.promises.moves_zeros && zero(i)) wrong += is_plus_zero(result[i]) ? 0 : 1;
    if (system.promises.prunes && !kept[i]) {
      wrong += is_plus_zero(result[i]) ? 0 : 1;
    } else if (system.promises.error >= 0 && kept[i]) {
      wrong += error <= system.promises.error * size + rounding<T>(size) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

/// Over steps, cut in several ways and with a restart between them: what came out, and what waits
/// on all ranks, is what went in.
template <GradientValue T>
void nothing_is_lost(Team& backend, const System& system) {
  using A = arithmetic_t<T>;
  constexpr Step steps = 6;
  const ReduceOptions options{.reduction = Reduction::sum, .seed = 4};
  Replica<T> first(backend, system, matrices, options), second(backend, system, matrices, options);
  const std::size_t n = first.size();
  std::vector<double> owed(n), given(n);
  double sizes = 0;
  for (Step step = 0; step < steps; ++step) {
    if (step == steps / 2) second.restore(first.saved());
    Replica<T>& replica = step < steps / 2 ? first : second;
    for (int rank = 0; rank < replica.ranks(); ++rank) {
      const auto gradient = replica.gradient_of(rank, step);
      for (std::size_t i = 0; i < n; ++i) owed[i] += real(gradient[i]);
    }
    const auto result = replica.step(step, step % 2 == 0 ? Cut::by_name : Cut::apart);
    for (std::size_t i = 0; i < n; ++i) given[i] += real(result[i]);
    sizes += largest(result) + 64;
  }
  const auto residual = reducer::residual_in<A>(second.saved(), n);
  const auto all =
      gather_host_values(backend.executor(), backend.communicator(), std::span<const A>(residual));
  const auto kept = second.kept();
  const double tolerance =
      4 * (system.promises.halves ? rounding<bfloat16>(sizes) : rounding<T>(sizes));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double waiting = 0;
    for (std::size_t at = i; at < all.size(); at += n) waiting += real(all[at]);
    if (system.promises.prunes && !kept[i]) wrong += waiting == 0 ? 0 : 1;
    else wrong += std::abs(given[i] + waiting - owed[i]) <= tolerance ? 0 : 1;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("the same on all ranks, however the gradient is cut and wherever it lies") {
  for_all(
      [](Team& backend, const System& system) {
        for (const Shape* shape : {&matrices, &words, &one_entry}) {
          cuts_do_not_matter<float>(backend, system, *shape);
        }
      },
      7);
}

TEST_CASE("and so in every type") {
  for_all([](Team& backend, const System& system) {
    for_types<double, float16, bfloat16>(
        [&]<class T>() { cuts_do_not_matter<T>(backend, system, matrices); });
  });
}

TEST_CASE("as near the dense mean as promised; zeros and what is pruned stay zero") {
  for_all([](Team& backend, const System& system) {
    for_gradient_types([&]<class T>() { is_near_the_dense_mean<T>(backend, system); });
  });
}

TEST_CASE("what is not conveyed waits, through restarts and other cuts") {
  for_all(
      [](Team& backend, const System& system) {
        if (!system.promises.conserves) return;
        for_gradient_types([&]<class T>() { nothing_is_lost<T>(backend, system); });
      },
      4);
}

TEST_CASE("the same inputs give the same bits, and another seed others where values are drawn") {
  for_all([](Team& backend, const System& system) {
    Replica<float> first(backend, system, matrices), second(backend, system, matrices),
        seeded(backend, system, matrices, {.seed = 11});
    bool differs = false;
    for (Step step = 0; step < 3; ++step) {
      const auto result = first.step(step);
      CHECK(same_bits(second.step(step), result));
      differs = !same_bits(seeded.step(step), result) || differs;
    }
    CHECK(differs == system.promises.draws);
  });
}

TEST_CASE(
    "nothing but zeros gives zeros, a constant is the same in any order, and one may be alone") {
  for_all([](Team& backend, const System& system) {
    for (const Shape* shape : {&matrices, &one_entry}) {
      Replica<float> zeros(backend, system, *shape), constant(backend, system, *shape);
      for (int step = 0; step < 3; ++step) {
        const auto nothing = zeros.reduce(std::vector<float>(shape->size())).values;
        CHECK(std::ranges::all_of(nothing, is_plus_zero<float>));
        const auto ones = constant.reduce(std::vector<float>(shape->size(), 1.0f)).values;
        CHECK(same_on_all(backend, ones));
        CHECK(std::ranges::all_of(ones, [](float x) { return std::isfinite(x); }));
      }
    }
  });
}

TEST_CASE("a rank that has nothing adds zeros, whatever its gradient holds") {
  for_all([](Team& backend, const System& system) {
    for (int idle = 0; idle < backend.communicator().size(); ++idle) {
      Replica<float> replica(backend, system, matrices), twin(backend, system, matrices);
      const bool nothing = replica.rank() == idle;
      for (Step step = 0; step < 2; ++step) {
        const auto gradient = replica.gradient_of(replica.rank(), step);
        const std::vector<float> zeros(replica.size());
        const std::vector<float> garbage(replica.size(), std::numeric_limits<float>::quiet_NaN());
        CHECK(same_bits(replica
                            .reduce(nothing ? garbage : gradient, Cut::by_name,
                                    nothing ? Contribution::nothing : Contribution::gradient)
                            .values,
                        twin.reduce(nothing ? zeros : gradient).values));
      }
    }
  });
}

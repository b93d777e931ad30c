// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a GPU runs, on Thrust's systems for the host.
#include <suite/executor.hpp>

#include <pactrain/kernel/rank_order.hpp>

#include <cuda/host_world.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

TYPE_TO_STRING(ThrustSerial);
TYPE_TO_STRING(ThrustOpenMp);
TEST_CASE_TEMPLATE_INVOKE(executor::executor_suite, ThrustSerial, ThrustOpenMp);

namespace {

TEST_CASE_TEMPLATE("long vectors are reduced piece by piece", E, ThrustSerial, ThrustOpenMp) {
  E exec;
  const Array<std::uint64_t, E> out(exec, 1);
  for (const std::size_t n : {4096u, 4097u, 8192u, 1u << 22, (1u << 22) + 1, (1u << 23) + 77}) {
    std::uint64_t sum = 1;
    for (std::size_t i = 0; i < n; ++i) sum += executor::Mixed{}(i);
    exec.reduce(n, std::uint64_t{1}, executor::Mixed{}, kernel::Add{},
                std::span<std::uint64_t, 1>(out.span()));
    CHECK(out.read()[0] == sum);
  }
}

TEST_CASE_TEMPLATE("the k-th largest of long vectors is that of the host", E, ThrustSerial,
                   ThrustOpenMp) {
  E exec;
  HostExecutor host;
  for_gradient_types([&]<class T>() {
    std::vector<T> x = values_of<T>(3, 300001);
    x[17] = static_cast<T>(std::numeric_limits<arithmetic_t<T>>::infinity());
    for (std::size_t i = 1000; i < 60000; ++i) x[i] = x[999];  // many ties
    const std::span<const T> all(x),
        parts[] = {all.first(5), all.subspan(5, 99995), all.subspan(100000), all.first(0)};
    const std::span<const std::span<const T>> spans(parts);
    for (const std::size_t k : {1u, 2u, 100u, 150000u, 299999u, 300001u}) {
      const auto bar = exec.kth_largest(spans, k);
      const auto expected = host.kth_largest(spans, k);
      CHECK(bar.bar == expected.bar);
      CHECK(bar.above == expected.above);
    }
  });
}

/// Rank 1's view of three ranks' contributions to its share.
template <class T, class Op>
void check_rank_order(Op op) {
  const std::size_t n = 100, stride = 128;
  const std::vector<T> mine = values_of<T>(1, n);
  std::vector<T> others(3 * stride), out(n);
  for (const int r : {0, 2}) {
    const std::vector<T> theirs = values_of<T>(r, n);
    std::copy(theirs.begin(), theirs.end(),
              others.begin() + r * static_cast<std::ptrdiff_t>(stride));
  }
  ThrustSerial{}.for_each(
      n, kernel::ReduceInRankOrder<T, Op>{mine.data(), others.data(), stride, 1, 3, out.data()});
  CHECK(same_bits(out, reduced_values<T>(3, n, op)));
}

TEST_CASE("what NCCL cannot add is added in rank order") {
  for_reducible_types([]<class T>() {
    check_rank_order<T>(Sum{});
    check_rank_order<T>(Max{});
    if constexpr (GradientValue<T>) check_rank_order<T>(Mean{});
  });
}

TEST_CASE("memory for Thrust's temporaries is kept") {
  SerialSystem system;
  gpu::Temporaries<SerialSystem> temporaries(system);
  char* const first = temporaries.allocate(1000);
  char* const second = temporaries.allocate(10);
  CHECK(first != second);
  temporaries.deallocate(first, 1000);
  CHECK(temporaries.allocate(999) == first);
  temporaries.deallocate(second, 10);
  temporaries.deallocate(first, 1000);
  CHECK(temporaries.allocate(5) == second);  // the smallest that fits
}

}  // namespace

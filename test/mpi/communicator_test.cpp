// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi/world.hpp>
#include <pipeline/allocations.hpp>
#include <suite/values.hpp>

#include <pactrain/core/collectives.hpp>
#include <pactrain/mpi/backend.hpp>

#include <doctest/doctest.h>
#include <mpi.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// The largest over ranks, by MPI itself.
int largest(int x) {
  MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return x;
}
template <class T>
bool same_on_all_ranks(const std::vector<T>& x) {
  std::vector<T> root = x;
  MPI_Bcast(root.data(), static_cast<int>(root.size() * sizeof(T)), MPI_BYTE, 0, MPI_COMM_WORLD);
  return largest(same_bits(root, x) ? 0 : 1) == 0;
}

}  // namespace

TEST_CASE("vendor order sums by MPI_Iallreduce") {
  for (const std::size_t limit : {std::size_t{40}, std::size_t{1} << 30}) {
    MpiBackend backend{MPI_COMM_WORLD,
                       {.timeout = patience, .order = Order::vendor, .message_limit = limit}};
    auto& comm = backend.communicator();
    const int ranks = comm.size();
    for (const std::size_t n : {0u, 1u, 65u, 1000u}) {
      const auto check = [&]<class T>(auto op) {
        const std::uint64_t before = comm.bytes_sent();
        auto x = values_of<T>(comm.rank(), n);
        all_reduce(backend.executor(), comm, std::span(x), op);
        CHECK(same_on_all_ranks(x));
        const auto expected = reduced_values<T>(ranks, n, op);
        bool close = true;
        for (std::size_t i = 0; i < n; ++i) {
          const double error = static_cast<double>(x[i]) - static_cast<double>(expected[i]);
          close &= std::abs(error) <= (std::integral<T> ? 0.0 : 1e-4);
        }
        CHECK(close);
        const std::size_t own = share_of(n, comm.rank(), ranks).size();
        const auto others = static_cast<std::size_t>(ranks - 1);
        CHECK(comm.bytes_sent() - before == sizeof(T) * (n - own + others * own));
      };
      check.operator()<float>(Sum{});
      check.operator()<double>(Mean{});
      check.operator()<float>(Max{});
      check.operator()<std::int8_t>(Sum{});
      check.operator()<std::int64_t>(Sum{});
      check.operator()<std::uint32_t>(Max{});
      auto half = values_of<float16>(comm.rank(), n);
      all_reduce(backend.executor(), comm, std::span(half), Mean{});
      CHECK(same_bits(half, reduced_values<float16>(ranks, n, Mean{})));
    }
    std::vector<double> a(10, 1.0), b(3, 2.0);
    auto on_a = comm.start_all_reduce(backend.executor(), std::span(a), Sum{});
    auto on_b = comm.start_all_reduce(backend.executor(), std::span(b), Mean{});
    comm.finish(on_b, usual_deadline(comm));
    comm.finish(on_a, usual_deadline(comm));
    CHECK(a == std::vector<double>(10, static_cast<double>(ranks)));
    CHECK(b == std::vector<double>(3, 2.0));
  }
}

TEST_CASE("the result does not depend on segments") {
  const std::size_t n = 10007;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto expected = reduced_values<bfloat16>(ranks, n, Mean{});
  for (const std::size_t segment : {1u, 2u, 100u, 4096u, 1u << 20}) {
    MpiBackend backend{MPI_COMM_WORLD, {.timeout = patience, .segment = segment}};
    auto x = values_of<bfloat16>(rank, n);
    all_reduce(backend.executor(), backend.communicator(), std::span(x), Mean{});
    CHECK(same_bits(x, expected));
  }
}

TEST_CASE("a message of another size is a mismatch of its sender") {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int odd = 0; ranks > 1 && odd < ranks; ++odd) {
    for (const std::size_t n : {1u, 100u, 50000u}) {
      MpiBackend backend{MPI_COMM_WORLD, {.timeout = std::chrono::milliseconds(300)}};
      std::vector<float> x(rank == odd ? n + static_cast<std::size_t>(ranks) : n);
      int noticed = 0;
      try {
        all_reduce(backend.executor(), backend.communicator(), std::span(x), Sum{});
      } catch (const RankMismatch& error) {
        noticed = 1;
        CHECK(error.field() == "size");
        CHECK((rank == odd || error.rank() == odd));
      } catch (const DeadlineExceeded&) {
      }
      CHECK(largest(noticed) == 1);
    }
  }
}

TEST_CASE("equal calls allocate in their first rounds only") {
  MpiBackend backend{MPI_COMM_WORLD, {.timeout = patience}};
  auto& comm = backend.communicator();
  std::vector<float> a(5000), b(70), gathered(3 * static_cast<std::size_t>(comm.size()));
  const std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size()), 3);
  const auto step = [&] {
    auto on_a = comm.start_all_reduce(backend.executor(), std::span(a), Mean{});
    auto on_b = comm.start_all_reduce(backend.executor(), std::span(b), Max{});
    comm.finish(on_b, usual_deadline(comm));
    comm.finish(on_a, usual_deadline(comm));
    broadcast(backend.executor(), comm, std::span(b), 0);
    all_gather(backend.executor(), comm, std::span<const float>(b).first(3),
               std::span<const std::size_t>(counts), std::span(gathered));
  };
  step();
  step();
  start_counting_allocations();
  for (int i = 0; i < 20; ++i) step();
  CHECK(stop_counting_allocations() == 0);
}

TEST_CASE("options that cannot work are refused") {
  CHECK_THROWS_AS(MpiBackend(MPI_COMM_WORLD, {.segment = 0}), PreconditionError);
  CHECK_THROWS_AS(MpiBackend(MPI_COMM_WORLD, {.message_limit = 0}), PreconditionError);
  CHECK_THROWS_AS(MpiBackend(MPI_COMM_WORLD, {.message_limit = std::size_t{1} << 31}),
                  PreconditionError);
  CHECK_THROWS_AS(MpiBackend(MPI_COMM_WORLD, {.timeout = std::chrono::seconds(0)}),
                  PreconditionError);
  CHECK_THROWS_AS(MpiBackend{MPI_COMM_NULL}, PreconditionError);
}

TEST_CASE("a communicator moves with what it has started") {
  std::vector<float> x(1000, 2.0f);
  std::optional<MpiCommunicator> first(std::in_place, MPI_COMM_WORLD);
  HostExecutor exec;
  auto started = first->start_all_reduce(exec, std::span(x), Mean{});
  MpiCommunicator second(std::move(*first));
  first.reset();
  second.finish(started, usual_deadline(second));
  CHECK(x == std::vector<float>(1000, 2.0f));
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The training loop of README.md and docs/quickstart.md, word for word, on a model of one layer;
// and what ranks that are processes would notice too late, or never.
// clang-format off
#include <pactrain/pactrain.hpp>
#include <pactrain/mpi/backend.hpp>
using namespace pactrain;
// clang-format on

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace {

/// The gradient of half the squared distance to what rank `rank` would have.
struct Backward {
  int rank;
  void operator()(std::span<const float> weights, std::span<float> gradient) const {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      gradient[i] = weights[i] - static_cast<float>(i % 10 + 1) - static_cast<float>(rank);
    }
  }
};
struct Momentum {
  std::span<float> momentum;
  void operator()(std::span<float> weights, std::span<const float> gradient) const {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      momentum[i] = 0.5f * momentum[i] + gradient[i];
      weights[i] -= 0.1f * momentum[i];
    }
  }
};

}  // namespace

TEST_CASE("the training loop of the README prunes and learns") {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<float> weights(100), gradient(100), momentum(100);
  for (std::size_t i = 0; i < 100; ++i) weights[i] = static_cast<float>(i);
  const Backward backward{rank};
  const Momentum optimizer{momentum};
  const Step steps = 2100;
  std::size_t kept = 100;
  const auto log = [&](const Report& report) {
    CHECK(report.kept <= kept);
    kept = report.kept;
  };

  // clang-format off
MpiBackend backend{MPI_COMM_WORLD};                       // a duplicate of it; MPI stays yours
SparseAllReduce<GradualMagnitude, BitMask, MpiBackend> reduce{
    backend, {.weights = weights, .final_sparsity = 0.9, .begin = 100, .end = 2000, .every = 100}};
broadcast(backend, weights);                              // all replicas start alike

for (Step step = 0; step < steps; ++step) {
  backward(weights, gradient);
  const Report report = reduce(gradient);                 // the mean over ranks, zero where pruned
  optimizer(weights, gradient);
  reduce.mask().apply(weights);                           // pruned weights stay exactly zero
  reduce.mask().apply(momentum);                          // and so does their optimiser state
  log(report);                                            // entries kept, bytes, seconds by stage
}
  // clang-format on

  CHECK(kept == 10);
  CHECK(std::ranges::count(weights, 0.0f) == 90);
  CHECK(std::ranges::count(momentum, 0.0f) >= 90);
  for (std::size_t i = 0; i < 100; ++i) {  // what survives has learnt
    if (weights[i] == 0.0f) continue;
    const double mean = static_cast<double>(i % 10 + 1) + 0.5 * (ranks - 1);
    CHECK(weights[i] == doctest::Approx(mean));
  }
}

TEST_CASE("polling starts no collective: ranks that poll apart still meet") {
  MpiBackend backend{MPI_COMM_WORLD, {.timeout = std::chrono::seconds(60)}};
  DenseAllReduce<MpiBackend, Ternary> first{backend}, second{backend};
  for (int step = 0; step < 3; ++step) {
    std::vector<float> x(12, 1.0f), y(12, 8.0f);
    Pending of_x = first.start(x);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    if (backend.communicator().rank() == 0) {
      while (!of_x.advance() && std::chrono::steady_clock::now() < deadline) {
      }
    }
    Pending of_y = second.start(y);
    of_y.wait();
    of_x.wait();
    CHECK(x == std::vector<float>(12, 1.0f));
    CHECK(y == std::vector<float>(12, 8.0f));
  }
}

TEST_CASE("a broadcast from several roots is refused on every rank") {
  MpiBackend backend{MPI_COMM_WORLD, {.timeout = std::chrono::seconds(60)}};
  const int rank = backend.communicator().rank(), ranks = backend.communicator().size();
  std::vector<float> x(3, static_cast<float>(rank));
  if (ranks > 1) CHECK_THROWS_AS(broadcast(backend, x, rank % 2), RankMismatch);
  CHECK_THROWS_AS(broadcast(backend, x, rank == ranks - 1 ? ranks : 0), PreconditionError);
  CHECK(x == std::vector<float>(3, static_cast<float>(rank)));
  broadcast(backend, x, ranks - 1);
  CHECK(x == std::vector<float>(3, static_cast<float>(ranks - 1)));
}

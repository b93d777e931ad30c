// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/core/collectives.hpp>
#include <pactrain/mpi/backend.hpp>

#include <doctest/doctest.h>
#include <mpi.h>

#include <optional>
#include <span>
#include <vector>

using namespace pactrain;

TEST_CASE("a communicator lives while MPI runs, and may be destroyed later") {
  CHECK_THROWS_AS(MpiCommunicator(MPI_COMM_WORLD), PreconditionError);
  MPI_Init(nullptr, nullptr);
  std::optional<MpiBackend> backend(MPI_COMM_WORLD);
  std::vector<float> x(10, 3.0f);
  all_reduce(backend->executor(), backend->communicator(), std::span(x), Mean{});
  CHECK(x == std::vector<float>(10, 3.0f));
  MPI_Finalize();
  CHECK_NOTHROW(backend.reset());
  CHECK_THROWS_AS(MpiCommunicator(MPI_COMM_WORLD), PreconditionError);
}

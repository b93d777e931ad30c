// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/world.hpp>

#include <pactrain/mpi/backend.hpp>
#include <pactrain/mpi/options.hpp>

#include <mpi.h>

#include <chrono>
#include <vector>

namespace pactrain::test {

struct DefaultMessages {
  static MpiOptions options() { return {}; }
};

/// The ranks that mpirun started. Each has the test's outcome for itself.
template <class Options = DefaultMessages, class B = MpiBackend>
struct MpiWorld {
  using backend_type = B;
  static constexpr bool shared_fate = false;

  static int rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  static std::vector<int> ranks() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return {size};
  }
  template <class Body>
  static void run(int, Body body, std::chrono::milliseconds timeout) {
    MpiOptions options = Options::options();
    options.timeout = timeout;
    options.farewell = std::chrono::milliseconds(100);  // after failures, which tests have many of
    B backend{MPI_COMM_WORLD, options};
    body(backend);
  }
};

static_assert(World<MpiWorld<>>);

}  // namespace pactrain::test

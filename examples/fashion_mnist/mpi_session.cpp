// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpi_session.hpp"

#include "team.hpp"
#include "worker.hpp"

#include <pactrain/mpi/backend.hpp>
#include <pactrain/pactrain.hpp>

#include <mpi.h>

#include <cstdlib>

namespace demo {

MpiSession::MpiSession(int& argc, char**& argv) { MPI_Init(&argc, &argv); }

MpiSession::~MpiSession() { MPI_Finalize(); }

int MpiSession::rank() const {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int MpiSession::size() const {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

int MpiSession::first_failed(bool failed) const {
  int lowest = failed ? rank() : size();
  MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return lowest;
}

std::vector<Result> MpiSession::train(const Settings& settings, const Problem& problem) const {
  Backend backend =
      backend_on(pactrain::MpiCommunicator(MPI_COMM_WORLD, {.order = settings.order}));
  Worker worker(backend, settings, problem);
  std::vector<Result> results;
  for (const Run& run : settings.runs) results.push_back(worker.train(run));
  return results;
}

void MpiSession::abort() const {
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::abort();
}

}  // namespace demo

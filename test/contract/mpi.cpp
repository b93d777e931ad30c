// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks that mpirun started, and that they give what threads give.
#include <pactrain/mpi/backend.hpp>
#include <pactrain/mpi/options.hpp>

#include <contract/replica.hpp>
#include <doctest/doctest.h>
#include <mpi.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace pactrain::test::contract {

std::vector<int> team_sizes() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return {size};
}
void on_team(int, const std::function<void(Team&)>& body) {
  MpiOptions options;
  options.timeout = patience;
  options.farewell = std::chrono::milliseconds(100);  // after failures, which tests have many of
  Team backend = backend_on(MpiCommunicator(MPI_COMM_WORLD, options));
  body(backend);
}

}  // namespace pactrain::test::contract

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::contract;

namespace {

/// What each of some steps gave, and the state after them.
std::vector<std::string> course(Team& backend, const System& system) {
  Replica<float> replica(backend, system, matrices);
  std::vector<std::string> course;
  for (Step step = 0; step < 4; ++step) {
    const auto x = replica.step(step, step % 2 == 0 ? Cut::by_name : Cut::apart);
    course.emplace_back(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float));
  }
  course.push_back(replica.saved());
  return course;
}

}  // namespace

TEST_CASE("processes give the bits that threads give") {
  for_all([](Team& backend, const System& system) {
    const auto mine = course(backend, system);
    on_thread_team(backend.communicator().size(), [&](Team& thread) {
      const auto theirs = course(thread, system);
      if (thread.communicator().rank() == backend.communicator().rank()) CHECK(theirs == mine);
    });
  });
}

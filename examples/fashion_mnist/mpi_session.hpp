// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "network.hpp"
#include "results.hpp"
#include "settings.hpp"

#include <string>
#include <vector>

namespace demo {

/// MPI, from its start to its end. Two source files define this class, and the build takes one:
/// mpi_session.cpp, or mpi_session_absent.cpp where MPI is not to be had.
class MpiSession {
 public:
  /// Throws std::runtime_error where this program was built without MPI.
  MpiSession(int& argc, char**& argv);
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  ~MpiSession();

  int rank() const;
  int size() const;

  /// The lowest rank that says it failed, or size() where none did. Collective.
  int first_failed(bool failed) const;

  /// Does all runs, a worker on every rank. Collective.
  std::vector<Result> train(const Settings& settings, const Problem& problem) const;

  /// Ends all ranks, for an error that the others do not know of.
  [[noreturn]] void abort() const;
};

}  // namespace demo

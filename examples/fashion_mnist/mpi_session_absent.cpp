// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpi_session.hpp"

#include <cstdlib>
#include <stdexcept>

namespace demo {

MpiSession::MpiSession(int&, char**&) {
  throw std::runtime_error(
      "this program was built without MPI. Install it (apt-get install libopenmpi-dev "
      "openmpi-bin), configure and build again; or use --backend threads.");
}

MpiSession::~MpiSession() = default;

int MpiSession::rank() const { return 0; }

int MpiSession::size() const { return 1; }

int MpiSession::first_failed(bool failed) const { return failed ? 0 : 1; }

std::vector<Result> MpiSession::train(const Settings&, const Problem&) const { return {}; }

void MpiSession::abort() const { std::abort(); }

}  // namespace demo

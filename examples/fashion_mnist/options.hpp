// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "settings.hpp"

#include <optional>
#include <stdexcept>

namespace demo {

/// What the user asked for cannot be done; the message says what to ask for instead.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads the command line into settings. Gives an exit code where the program has nothing more to
/// do (help asked for, or an option that is wrong), after saying so unless quiet.
std::optional<int> parse_options(int argc, char** argv, bool quiet, Settings& settings);

/// Is the backend on the command line MPI? Asked before anything is parsed or printed.
bool asks_for_mpi(int argc, char** argv);

/// Checks what the number of workers decides. Throws UsageError.
void check(const Settings& settings);

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "settings.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace demo {

/// Where a training stands after some steps.
struct Point {
  std::size_t step = 0;
  double accuracy = 0;    // part of the test pictures that is put into the right class
  double bytes_sent = 0;  // by one worker, since the start
  double seconds = 0;     // of training since the start, without those of testing
};

/// What came out of one run. Bytes and seconds are those of a worker, the mean over workers.
struct Result {
  Run run;
  double accuracy = 0;
  double loss = 0;                     // over the last epoch
  double payload_per_step = 0;         // bytes
  double bytes_per_step = 0;           // handed to the transport
  double payload_per_step_steady = 0;  // both again, once the final mask stands
  double bytes_per_step_steady = 0;
  double kept = 0;          // part of the gradient that the final mask keeps
  double bytes_in_all = 0;  // of the whole run: all that the transport was handed
  std::size_t steps = 0;
  std::size_t steps_steady = 0;  // those since the final mask stands
  double seconds_per_step = 0;
  double seconds_per_step_steady = 0;
  std::array<double, 3> quartiles_steady{};  // of the seconds of a step, on the first worker
  std::vector<std::pair<std::string, double>> stages, stages_steady;  // seconds a step
  std::vector<Point> curve;
  std::uint64_t weights = 0;  // their fingerprint
  std::string summary;        // of what this rank's calls did
};

/// Prints one line a run: accuracy, bytes, and how many times fewer bytes than the dense run;
/// then the seconds a step by stage.
void print_table(std::ostream& out, const std::vector<Result>& results);

/// Writes settings and results as JSON. Throws std::runtime_error where the file is not written.
void write_json(const std::filesystem::path& file, const Settings& settings,
                const std::vector<Result>& results);

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "stages.hpp"

#include <cstddef>
#include <vector>

namespace demo {

/// What steps have cost one worker.
struct Cost {
  std::size_t steps = 0;
  double seconds = 0;  // on the wall; stages that overlap count for themselves
  std::vector<double> seconds_of_each;
  double payload = 0, sent = 0;
  Stages stages;

  Cost& operator+=(const Cost& other) {
    steps += other.steps;
    seconds += other.seconds;
    seconds_of_each.insert(seconds_of_each.end(), other.seconds_of_each.begin(),
                           other.seconds_of_each.end());
    payload += other.payload;
    sent += other.sent;
    stages += other.stages;
    return *this;
  }
};

}  // namespace demo

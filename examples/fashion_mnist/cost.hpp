// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "stages.hpp"

#include <cstddef>

namespace demo {

/// What steps have cost one worker.
struct Cost {
  std::size_t steps = 0;
  double seconds = 0;  // on the wall; stages that overlap count for themselves
  double payload = 0, sent = 0;
  Stages stages;

  Cost& operator+=(const Cost& other) {
    steps += other.steps;
    seconds += other.seconds;
    payload += other.payload;
    sent += other.sent;
    stages += other.stages;
    return *this;
  }
};

}  // namespace demo

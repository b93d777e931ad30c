// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace demo {

/// Shows on standard output how far a training is.
class Progress {
 public:
  enum class Style {
    nothing,
    lines,  // one an epoch; mpirun lets its processes see a terminal where there may be none
    bar     // where standard output is a terminal, else lines
  };

  Progress(Style style, std::string name, std::size_t steps);

  /// Some steps are done. Draws at most ten times a second.
  void step(std::size_t done);
  /// An epoch is done.
  void epoch(std::size_t epoch, std::size_t epochs, std::size_t done, double loss, double accuracy);
  /// The training is done: leaves one line that stays.
  void finish(double accuracy);

 private:
  using Clock = std::chrono::steady_clock;
  double elapsed() const;
  void draw(std::size_t done, Clock::time_point now);

  Style style_;
  std::string name_, note_;
  std::size_t steps_;
  Clock::time_point start_, drawn_;
};

}  // namespace demo

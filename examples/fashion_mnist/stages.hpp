// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/pactrain.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace demo {

/// Adds up the seconds of each stage of a step, in the order in which the stages come.
class Stages {
 public:
  /// A stage that the program times itself begins.
  void start() { start_ = Clock::now(); }
  /// It ends.
  void stop(const char* name) {
    add(name, std::chrono::duration<double>(Clock::now() - start_).count());
  }
  /// The stages that the library has timed.
  void add(const pactrain::Report& report) {
    const auto& seconds = report.seconds;
    add("keep", seconds.keep);
    add("pack", seconds.pack);
    add("encode", seconds.encode);
    add("collective", seconds.collective);
    add("decode", seconds.decode);
    add("unpack", seconds.unpack);
    add("commit", seconds.commit);
  }
  Stages& operator+=(const Stages& other) {
    for (const auto& [name, seconds] : other.seconds_) add(name.c_str(), seconds);
    return *this;
  }
  const std::vector<std::pair<std::string, double>>& seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;

  void add(const char* name, double seconds) {
    for (auto& [known, sum] : seconds_)
      if (known == name) {
        sum += seconds;
        return;
      }
    seconds_.emplace_back(name, seconds);
  }

  Clock::time_point start_;
  std::vector<std::pair<std::string, double>> seconds_;
};

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "settings.hpp"
#include "team.hpp"

#include <pactrain/pactrain.hpp>

#include <fstream>
#include <optional>
#include <string>

namespace demo {

/// What one rank's calls did in a run: added up, and if the user asked for it written to the output
/// directory, as JSON lines of all steps and as a trace of the first hundred.
class RunLog {
 public:
  /// Throws std::runtime_error where a file cannot be written.
  RunLog(Backend& backend, const Settings& settings, const Run& run);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  void note(const pactrain::Report& report);
  /// For people, in a few lines.
  [[nodiscard]] std::string summary() const;

 private:
  void end_trace();

  Backend& backend_;
  pactrain::Summary summary_;
  pactrain::Trace trace_;
  std::ofstream reports_, trace_file_;
  std::optional<pactrain::JsonLines> lines_;
};

}  // namespace demo

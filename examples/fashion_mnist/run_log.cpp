// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run_log.hpp"

#include <filesystem>
#include <sstream>
#include <stdexcept>

namespace demo {
namespace {

constexpr std::size_t traced_steps = 100;

std::ofstream opened(const std::filesystem::path& path) {
  std::ofstream file(path);
  if (!file)
    throw std::runtime_error("cannot write " + path.string() +
                             ". Name another directory by --output.");
  return file;
}

}  // namespace

RunLog::RunLog(Backend& backend, const Settings& settings, const Run& run)
    : backend_(backend), trace_(backend.communicator().rank()) {
  if (!settings.trace) return;
  const int rank = backend.communicator().rank();
  const std::string name = run.name + ".rank" + std::to_string(rank);
  reports_ = opened(settings.output / (name + ".reports.jsonl"));
  trace_file_ = opened(settings.output / (name + ".trace.json"));
  lines_.emplace(reports_, rank);
  backend.executor().record(&trace_);
}

RunLog::~RunLog() { end_trace(); }

void RunLog::note(const pactrain::Report& report) {
  summary_.add(report);
  if (lines_) lines_->write(report);
  if (summary_.steps() >= traced_steps) end_trace();
}

std::string RunLog::summary() const {
  std::ostringstream out;
  summary_.print(out);
  return out.str();
}

void RunLog::end_trace() {
  if (!trace_file_.is_open()) return;
  backend_.executor().record(nullptr);
  trace_.write(trace_file_);
  trace_file_.close();
}

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/report.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <ostream>
#include <string>

namespace pactrain {

/// Writes reports as JSON lines: one object a report, with the names of `Report`'s members, the
/// paths and the stages by their names, and the rank. What a scheduler may cut off at any time is
/// whole up to the last line.
class JsonLines {
 public:
  /// `out` outlives it.
  explicit JsonLines(std::ostream& out, int rank = 0) : out_(&out), rank_(rank) {}

  /// Throws `Error` where the stream has failed.
  void write(const Report& report) {
    line_.clear();
    open('{');
    number("rank", rank_);
    number("step", report.step);
    number("entries", report.entries);
    number("kept", report.kept);
    number("payload_bytes", report.payload_bytes);
    number("bytes_sent", report.bytes_sent);
    number("dense_bytes", report.dense_bytes);
    name("path");
    line_ += '"' + std::string(name_of(report.path)) + '"';
    name("calls");
    open('{');
    for (std::size_t i = 0; i < path_count; ++i) {
      if (report.calls[i] != 0) number(name_of(static_cast<Path>(i)), report.calls[i]);
    }
    line_ += '}';
    name("non_finite");
    line_ += report.non_finite ? "true" : "false";
    if (report.quality) number("quality", *report.quality);
    name("seconds");
    open('{');
    report.seconds.each([&](const char* stage, double seconds) { number(stage, seconds); });
    line_ += "}}\n";
    *out_ << line_;
    out_->flush();
    if (!*out_) throw Error("pactrain: a report could not be written; is the disk full?");
  }

 private:
  void open(char bracket) { line_ += bracket; }
  void name(const char* text) {
    if (line_.back() != '{') line_ += ',';
    line_ += '"' + std::string(text) + "\":";
  }
  void number(const char* text, std::integral auto x) {
    name(text);
    line_ += std::to_string(x);
  }
  /// As short as it can be and still be read as the same number; JSON knows no infinity.
  void number(const char* text, double x) {
    name(text);
    if (!std::isfinite(x)) {
      line_ += "null";
      return;
    }
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, x).ptr;
    line_.append(digits, end);
  }

  std::ostream* out_;
  int rank_;
  std::string line_;
};

}  // namespace pactrain

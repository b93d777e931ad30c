// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/report.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <ostream>
#include <string>

namespace pactrain {

/// Adds up the reports of a training, to be printed at its end: bytes saved, seconds by stage, and
/// which ways were taken. Of one rank.
class Summary {
 public:
  void add(const Report& report) {
    if (!last_ || *last_ != report.step) ++steps_;
    last_ = report.step;
    sent_ += report.bytes_sent;
    dense_ += report.dense_bytes;
    for (std::size_t i = 0; i < path_count; ++i) calls_[i] += report.calls[i];
    not_finite_ += report.non_finite ? 1 : 0;
    kept_ = report.entries == 0
                ? 1.0
                : static_cast<double>(report.kept) / static_cast<double>(report.entries);
    seconds_ += report.seconds;
  }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint64_t dense_bytes() const noexcept { return dense_; }
  /// How many calls took a path.
  [[nodiscard]] std::uint64_t calls(Path path) const {
    return calls_[static_cast<std::size_t>(path)];
  }
  [[nodiscard]] const Stages& seconds() const noexcept { return seconds_; }

  /// Four lines or so.
  void print(std::ostream& out) const {
    out << "steps    " << steps_ << ':';
    for (std::size_t i = 0; i < path_count; ++i) {
      if (calls_[i] != 0) out << ' ' << calls_[i] << ' ' << name_of(static_cast<Path>(i));
    }
    if (not_finite_ != 0) out << ", " << not_finite_ << " with an infinity or a NaN";
    out << "\nkept     " << text("%.2f", 100 * kept_) << " % of the entries in the last\nsent     "
        << bytes(sent_) << ", dense " << bytes(dense_);
    if (sent_ != 0 && dense_ != 0) {
      out << ": " << text("%.1f", static_cast<double>(dense_) / static_cast<double>(sent_))
          << " times as many";
    }
    out << "\nseconds  " << text("%.3f", seconds_.total()) << ':';
    seconds_.each([&](const char* stage, double seconds) {
      if (seconds > 0) out << ' ' << stage << ' ' << text("%.3f", seconds);
    });
    out << '\n';
  }

 private:
  static std::string text(const char* format, double x) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, format, x);
    return buffer;
  }
  static std::string bytes(std::uint64_t n) {
    const auto x = static_cast<double>(n);
    if (x >= 1e9) return text("%.2f GB", x / 1e9);
    if (x >= 1e6) return text("%.2f MB", x / 1e6);
    return x >= 1e3 ? text("%.1f kB", x / 1e3) : text("%.0f B", x);
  }

  std::optional<Step> last_;
  std::uint64_t steps_ = 0, sent_ = 0, dense_ = 0, not_finite_ = 0;
  std::array<std::uint64_t, path_count> calls_{};
  double kept_ = 1;
  Stages seconds_;
};

}  // namespace pactrain

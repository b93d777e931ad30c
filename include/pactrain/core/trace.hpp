// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace pactrain {

/// Numbers that an interval of a trace may have besides its times.
struct TraceNotes {
  std::optional<std::uint64_t> step{}, bytes{};
};

/// What one rank did when, in rows: intervals of a row lie beside or within each other. Written in
/// the format that Perfetto and chrome://tracing open. For one thread.
class Trace {
 public:
  using Clock = std::chrono::steady_clock;
  struct Interval {
    std::string name, row;
    Clock::time_point begin, end;
    TraceNotes notes{};
  };

  explicit Trace(int rank = 0) : rank_(rank) {}

  void add(std::string row, std::string name, Clock::time_point begin, Clock::time_point end,
           TraceNotes notes = {}) {
    intervals_.push_back({std::move(name), std::move(row), begin, end, notes});
  }
  /// Calls `f` and adds the time it took.
  template <class F>
  void time(std::string row, std::string name, F f) {
    const auto begin = Clock::now();
    f();
    add(std::move(row), std::move(name), begin, Clock::now());
  }
  [[nodiscard]] const std::vector<Interval>& intervals() const noexcept { return intervals_; }
  /// The time during which intervals of both rows were under way.
  [[nodiscard]] Clock::duration overlap(const std::string& a, const std::string& b) const {
    Clock::duration sum{};
    for (const Interval& x : intervals_) {
      for (const Interval& y : intervals_) {
        if (x.row != a || y.row != b) continue;
        sum += std::max(Clock::duration{}, std::min(x.end, y.end) - std::max(x.begin, y.begin));
      }
    }
    return sum;
  }
  /// A JSON array of events in microseconds of the steady clock. The rank is the process, a row a
  /// thread of it.
  void write(std::ostream& out) const {
    std::vector<std::string> rows;
    const auto tid = [&](const std::string& row) {
      const auto found = std::ranges::find(rows, row);
      if (found == rows.end()) rows.push_back(row);
      return std::ranges::find(rows, row) - rows.begin();
    };
    for (const Interval& x : intervals_) tid(x.row);
    const std::string pid = R"("pid":)" + std::to_string(rank_);
    out << R"([{"ph":"M",)" << pid << R"(,"name":"process_name","args":{"name":"rank )" << rank_
        << R"("}})";
    for (const std::string& row : rows) {
      out << ",\n"
          << R"({"ph":"M",)" << pid << R"(,"tid":)" << tid(row)
          << R"(,"name":"thread_name","args":{"name":)" << quoted(row) << "}}";
    }
    for (const Interval& x : intervals_) {
      out << ",\n"
          << R"({"ph":"X",)" << pid << R"(,"tid":)" << tid(x.row) << R"(,"name":)" << quoted(x.name)
          << R"(,"ts":)" << microseconds(x.begin.time_since_epoch()) << R"(,"dur":)"
          << microseconds(x.end - x.begin) << noted(x.notes) << '}';
    }
    out << "]\n";
  }

 private:
  static std::string noted(const TraceNotes& notes) {
    std::string all;
    const auto note = [&](const char* name, const std::optional<std::uint64_t>& number) {
      if (!number) return;
      all += all.empty() ? R"(,"args":{)" : ",";
      all += '"' + std::string(name) + "\":" + std::to_string(*number);
    };
    note("step", notes.step);
    note("bytes", notes.bytes);
    return all.empty() ? all : all + '}';
  }
  static std::string microseconds(Clock::duration duration) {
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
    std::string thousandths = std::to_string(nanoseconds % 1000);
    thousandths.insert(0, 3 - thousandths.size(), '0');
    return std::to_string(nanoseconds / 1000) + "." + thousandths;
  }
  static std::string quoted(const std::string& text) {
    std::string all = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') all += '\\';
      all += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return all + '"';
  }

  int rank_;
  std::vector<Interval> intervals_;
};

}  // namespace pactrain

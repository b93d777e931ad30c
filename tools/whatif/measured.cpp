// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measured.hpp"

#include "csv.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace pactrain::tools {
namespace {

using Json = nlohmann::json;

constexpr double largest = 1e15;  // bytes, or microseconds: thirty years
constexpr std::size_t left_out = 5;

/// Waits from ready times, which lie in the order of backward.
std::vector<LayerGradient> layers_of(const std::vector<std::pair<double, double>>& ready) {
  std::vector<LayerGradient> layers;
  double before = 0;
  for (const auto& [seconds, bytes] : ready) {
    layers.push_back({std::max(seconds - before, 0.0), bytes});
    before = std::max(before, seconds);
  }
  return layers;
}

void expect_layers(const Measured& measured, const char* advice) {
  double bytes = 0;
  for (const LayerGradient& layer : measured.layers) bytes += layer.bytes;
  if (bytes > 0 && bytes <= largest) return;
  throw InputError(std::string("the gradients have ") +
                   (bytes > 0 ? "more bytes than can be" : "no bytes") + "; " + advice);
}

/// The member `name` of an event as a number that can be; null otherwise.
std::optional<double> number(const Json& event, const char* name) {
  const auto found = event.find(name);
  if (found == event.end() || !found->is_number()) return std::nullopt;
  const double x = found->get<double>();
  if (!std::isfinite(x) || std::abs(x) > largest) return std::nullopt;
  return x;
}

std::string text(const Json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// What a step's rows "ready" and "computing" say.
struct Step {
  std::map<std::string, std::pair<double, double>> ready;  ///< by gradient: seconds and bytes
  double first = largest, computing = -1;
};

using Row = std::pair<double, double>;  // process and thread

/// The events of a trace, whichever of the two forms it has.
const Json& events_of(const Json& trace) {
  if (trace.is_array()) return trace;
  if (trace.is_object()) {
    const auto found = trace.find("traceEvents");
    if (found != trace.end() && found->is_array()) return *found;
  }
  throw InputError(
      "this JSON is no trace; give a list of events, or an object with such a list as "
      "'traceEvents'");
}

/// Rows by their names, of the lowest process that has a row "ready".
std::map<std::string, Row> rows_of(const Json& events) {
  std::map<double, std::map<std::string, Row>> by_rank;
  for (const Json& event : events) {
    if (!event.is_object() || text(event, "name") != "thread_name") continue;
    const auto pid = number(event, "pid"), tid = number(event, "tid");
    const auto args = event.find("args");
    if (!pid || !tid || args == event.end() || !args->is_object()) continue;
    by_rank[*pid].emplace(text(*args, "name"), Row{*pid, *tid});
  }
  for (const auto& [rank, rows] : by_rank) {
    if (rows.contains("ready")) return rows;
  }
  throw InputError(
      "no row of the trace is called 'ready'; record it with GradientBuckets, whose option .trace "
      "writes one");
}

void take(const Json& event, const std::map<std::string, Row>& rows,
          std::map<double, Step>& steps) {
  if (!event.is_object() || text(event, "ph") != "X") return;
  const auto pid = number(event, "pid"), tid = number(event, "tid");
  if (!pid || !tid) return;
  const auto row = std::ranges::find_if(
      rows, [&](const auto& named) { return named.second == Row{*pid, *tid}; });
  if (row == rows.end() || (row->first != "ready" && row->first != "computing")) return;
  const std::string name = text(event, "name");
  const auto args = event.find("args");
  const bool has_args = args != event.end() && args->is_object();
  const auto at = number(event, "ts"), step = has_args ? number(*args, "step") : std::nullopt;
  const auto refuse = [&](const char* what) {
    throw InputError("an event of the row '" + row->first + "' has no " + what +
                     " that can be; record the trace with GradientBuckets");
  };
  if (!at) refuse("time 'ts'");
  if (!step) refuse("'step' among its args");
  if (row->first == "computing") {
    const auto duration = number(event, "dur");
    if (!duration || *duration < 0) refuse("duration 'dur'");
    steps[*step].computing = *duration * 1e-6;
    return;
  }
  const auto bytes = number(*args, "bytes");
  if (!bytes || *bytes < 0) refuse("'bytes' among its args");
  Step& of = steps[*step];
  of.first = std::min(of.first, *at * 1e-6);
  if (!of.ready.emplace(name, std::pair{*at * 1e-6, *bytes}).second) {
    throw InputError(
        "a gradient is ready twice in one step (are there traces of several trainings in the "
        "file?); give one");
  }
}

/// Do two steps have the same gradients, of the same bytes?
bool alike(const Step& a, const Step& b) {
  return std::ranges::equal(a.ready, b.ready, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.second == y.second.second;
  });
}

Measured average(const std::map<double, Step>& steps) {
  std::map<std::string, std::pair<double, double>> sums;
  double computing = 0;
  bool all_compute = true;
  std::size_t skipped = std::min(left_out, steps.size() - 1);
  const auto count = static_cast<double>(steps.size() - skipped);
  for (const auto& [number, step] : steps) {
    if (!alike(step, steps.begin()->second)) {
      throw InputError(
          "steps of the trace have other gradients than the first (another model?); give the "
          "trace of one training");
    }
    if (skipped > 0) {
      --skipped;
      continue;
    }
    all_compute = all_compute && step.computing > 0;
    computing += step.computing;
    for (const auto& [name, ready] : step.ready) {
      sums.try_emplace(name, 0.0, ready.second).first->second.first += ready.first - step.first;
    }
  }
  std::vector<std::pair<double, double>> ready;
  for (const auto& [name, sum] : sums) ready.emplace_back(sum.first / count, sum.second);
  std::ranges::sort(ready);
  Measured measured{.layers = layers_of(ready), .steps = static_cast<std::size_t>(count)};
  if (all_compute) measured.batch_seconds = computing / count;
  return measured;
}

}  // namespace

Measured read_csv(std::istream& in) {
  const Csv csv(in);
  const bool milliseconds = !csv.has("ready_seconds") && csv.has("ready_ms");
  const auto ready = csv.numbers(milliseconds ? "ready_ms" : "ready_seconds");
  const auto bytes = csv.numbers("bytes");
  std::vector<std::pair<double, double>> pairs;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    if (ready[i] > largest || bytes[i] > largest) {
      throw InputError("a number is larger than can be; give seconds, or milliseconds, and bytes");
    }
    pairs.emplace_back(milliseconds ? ready[i] * 1e-3 : ready[i], bytes[i]);
  }
  Measured measured{.layers = layers_of(pairs), .batch_seconds = {}};
  expect_layers(measured, "give a line for each gradient");
  return measured;
}

Measured read_trace(std::istream& in) {
  Json trace;
  try {
    trace = Json::parse(in);
  } catch (const Json::exception& error) {
    throw InputError(
        std::string("the trace is no JSON (was the program that wrote it stopped?): ") +
        error.what());
  }
  const Json& events = events_of(trace);
  const auto rows = rows_of(events);
  std::map<double, Step> steps;
  for (const Json& event : events) take(event, rows, steps);
  std::erase_if(steps, [](const auto& step) { return step.second.ready.empty(); });
  if (steps.empty()) {
    throw InputError("the row 'ready' of the trace is empty; record at least one step");
  }
  Measured measured = average(steps);
  expect_layers(measured, "record the trace with GradientBuckets");
  return measured;
}

Measured read_measured(std::istream& in) {
  in >> std::ws;
  const int first = in.peek();
  return first == '[' || first == '{' ? read_trace(in) : read_csv(in);
}

AddTable read_add_table(std::istream& in) {
  const Csv csv(in);
  const auto bytes = csv.numbers("bytes"), seconds = csv.numbers("seconds");
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < bytes.size(); ++i) points.emplace_back(bytes[i], seconds[i]);
  if (points.empty()) throw InputError("there are no points; give a line for each");
  return AddTable(std::move(points));
}

}  // namespace pactrain::tools

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "results.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace demo {
namespace {

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  char text[200];
  std::snprintf(text, sizeof text, pattern, arguments...);
  return text;
}

std::string hexadecimal(std::uint64_t value) {
  return format("%016llx", static_cast<unsigned long long>(value));
}

std::string bytes(double count) {
  if (count >= 1e6) return format("%.2f MB", count / 1e6);
  if (count >= 1e3) return format("%.1f kB", count / 1e3);
  return format("%.0f B", count);
}

/// The result of the dense run, or null where there is none.
const Result* dense_of(const std::vector<Result>& results) {
  const auto found = std::find_if(results.begin(), results.end(), [](const Result& result) {
    return result.run.compressor == "dense";
  });
  return found == results.end() ? nullptr : &*found;
}

std::string times_fewer(double dense, double sent) {
  return sent > 0 ? format("%.1f x", dense / sent) : "-";
}

}  // namespace

void print_table(std::ostream& out, const std::vector<Result>& results) {
  const Result* dense = dense_of(results);
  out << "\nA worker's bytes a step: the mean over the run, and once the final mask stands.\n";
  out << format("%-22s %8s  %10s %10s %8s  %10s %10s %8s  %16s\n", "run", "test", "payload", "sent",
                "fewer", "payload", "sent", "fewer", "weights");
  for (const Result& r : results) {
    const std::string fewer = dense ? times_fewer(dense->bytes_per_step, r.bytes_per_step) : "-";
    const std::string fewer_steady =
        dense ? times_fewer(dense->bytes_per_step_steady, r.bytes_per_step_steady) : "-";
    out << format("%-22s %6.2f %%  %10s %10s %8s  %10s %10s %8s  %16s\n", r.run.name.c_str(),
                  100 * r.accuracy, bytes(r.payload_per_step).c_str(),
                  bytes(r.bytes_per_step).c_str(), fewer.c_str(),
                  bytes(r.payload_per_step_steady).c_str(), bytes(r.bytes_per_step_steady).c_str(),
                  fewer_steady.c_str(), hexadecimal(r.weights).c_str());
  }
  if (results.empty()) return;
  out << "\nMilliseconds a step, by stage.\n" << format("%-22s %8s", "run", "all");
  for (const auto& [name, seconds] : results.front().stages) out << "  " << name;
  out << '\n';
  for (const Result& r : results) {
    out << format("%-22s %8.2f", r.run.name.c_str(), 1e3 * r.seconds_per_step);
    for (const auto& [name, seconds] : r.stages)
      out << format("  %*.2f", static_cast<int>(name.size()), 1e3 * seconds);
    out << '\n';
  }
  out << "\nWhat one worker's calls did.\n";
  for (const Result& r : results) out << r.run.name << '\n' << r.summary;
  out.flush();
}

void write_json(const std::filesystem::path& file, const Settings& settings,
                const std::vector<Result>& results) {
  using Json = nlohmann::ordered_json;
  Json json = {{"backend", settings.backend},
               {"ranks", settings.ranks},
               {"network", settings.network},
               {"epochs", settings.epochs},
               {"batch", settings.batch},
               {"seed", settings.seed},
               {"order", settings.order == pactrain::Order::rank ? "rank" : "vendor"},
               {"runs", Json::array()}};
  const Result* dense = dense_of(results);
  for (const Result& r : results) {
    Json run = {{"name", r.run.name},
                {"sparsity", r.run.sparsity},
                {"compressor", r.run.compressor},
                {"accuracy", r.accuracy},
                {"loss", r.loss},
                {"kept", r.kept},
                {"payload_per_step", r.payload_per_step},
                {"payload_per_step_steady", r.payload_per_step_steady},
                {"bytes_per_step", r.bytes_per_step},
                {"bytes_per_step_steady", r.bytes_per_step_steady},
                {"bytes_in_all", r.bytes_in_all},
                {"steps", r.steps},
                {"steps_steady", r.steps_steady},
                {"seconds_per_step", r.seconds_per_step},
                {"seconds_per_step_steady", r.seconds_per_step_steady},
                {"quartiles_steady", r.quartiles_steady},
                {"weights", hexadecimal(r.weights)}};
    if (dense && r.bytes_per_step > 0)
      run["times_fewer_bytes"] = dense->bytes_per_step / r.bytes_per_step;
    run["stages"] = Json::object();
    for (const auto& [name, seconds] : r.stages) run["stages"][name] = seconds;
    run["stages_steady"] = Json::object();
    for (const auto& [name, seconds] : r.stages_steady) run["stages_steady"][name] = seconds;
    run["curve"] = Json::array();
    for (const Point& p : r.curve)
      run["curve"].push_back({{"step", p.step},
                              {"accuracy", p.accuracy},
                              {"bytes_sent", p.bytes_sent},
                              {"seconds", p.seconds}});
    json["runs"].push_back(std::move(run));
  }
  std::ofstream out(file);
  out << json.dump(2) << '\n';
  out.close();
  if (!out)
    throw std::runtime_error("cannot write " + file.string() +
                             ". Name another directory by --output.");
}

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kills, stops or ends ranks of MPI jobs (`lost_peers`) at places drawn over all stages and
// collectives of all jobs, judges what the survivors say, and resumes each job from what was saved:
// to the bits of one that never lost a rank. A stage or a collective that is never hit is a
// failure.
#include <CLI/CLI.hpp>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Options {
  std::string mpirun = "mpirun", program;
  int ranks = 4;
  std::size_t count = 10;
  std::uint64_t seed = 1;
  long timeout = 2000;
  unsigned last_step = 3;  ///< faults are drawn from steps up to it, so that all ranks notice them
};

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  return fields;
}

/// Where a rank can fail.
struct Target {
  int victim = 0;
  std::size_t place = 0;
  std::string job, stage, operation, moment, step;

  [[nodiscard]] std::string where() const {
    return job + ", " + (stage.empty() ? "between stages" : stage) + ", " +
           (operation.empty() ? "" : operation + " ") + moment + ", step " + step;
  }
};
struct Kill {
  Target target;
  std::string how;
};

/// What must have been hit, of a kill.
std::vector<std::string> traits(const Kill& kill, bool fine) {
  const Target& t = kill.target;
  std::vector<std::string> all{"stage '" + t.stage + "'", "fault " + kill.how};
  if (!t.operation.empty()) all.push_back("collective " + t.operation);
  if (fine) all.push_back(t.job + ", stage '" + t.stage + "', collective '" + t.operation + "'");
  return all;
}

class Trial {
 public:
  explicit Trial(Options options) : options_(std::move(options)), random_(options_.seed) {}

  int run() {
    draw();
    int failed = 0;
    for (std::size_t i = 0; i < kills_.size(); ++i) {
      std::vector<std::string> wrong = judge(kills_[i]);
      std::cout << i + 1 << "/" << kills_.size() << " rank " << kills_[i].target.victim << " "
                << kills_[i].how << ": " << kills_[i].target.where()
                << (wrong.empty() ? "" : ": FAILED") << std::endl;
      for (const std::string& what : wrong) std::cout << "    " << what << std::endl;
      failed += wrong.empty() ? 0 : 1;
    }
    std::erase_if(must_, [&](const std::string& trait) { return hit_.contains(trait); });
    for (const std::string& trait : must_) std::cout << "never hit: " << trait << std::endl;
    std::cout << kills_.size() << " kills (seed " << options_.seed << ", deadline "
              << options_.timeout << " ms), " << failed << " failed; " << hit_.size()
              << " kinds of places hit, " << must_.size() << " not; survivors waited at most "
              << longest_ << " s; " << named_ << " of " << told_ << " named the lost rank first"
              << std::endl;
    return failed == 0 && must_.empty() ? 0 : 1;
  }

 private:
  using Line = std::vector<std::string>;

  /// A directory that is gone when it is out of use.
  struct Directory {
    std::string path =
        (std::filesystem::temp_directory_path() / ("kills." + std::string(6, 'X'))).string();
    Directory() {
      if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary directory");
    }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    ~Directory() { std::filesystem::remove_all(path); }
  };

  /// Runs `lost_peers`, and `heard(lines so far)` after every line.
  std::vector<Line> launch(const std::string& directory, const std::string& arguments,
                           const std::function<void(const std::vector<Line>&)>& heard = {}) {
    const std::string command = "timeout -k 5 120 " + options_.mpirun + " --enable-recovery -n " +
                                std::to_string(options_.ranks) + " " + options_.program + " " +
                                directory + " " + std::to_string(options_.seed) + " " +
                                std::to_string(options_.timeout) + " " + arguments + " 2>" +
                                directory + "/errors";
    std::vector<Line> lines;
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot start: " + command);
    char* text = nullptr;
    std::size_t size = 0;
    while (getline(&text, &size, pipe) > 0) {
      std::string line(text);
      while (!line.empty() && line.back() == '\n') line.pop_back();
      lines.push_back(fields_of(line));
      if (heard) heard(lines);
    }
    free(text);
    pclose(pipe);
    return lines;
  }
  static std::size_t count(const std::vector<Line>& lines, const std::string& kind) {
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const Line& line) { return !line.empty() && line[0] == kind; }));
  }

  void draw() {
    const Directory directory;
    launch(directory.path, "census");
    std::vector<Target> targets;
    for (int rank = 0; rank < options_.ranks; ++rank) {
      std::ifstream in(directory.path + "/places." + std::to_string(rank));
      for (std::string line; std::getline(in, line);) {
        const Line f = fields_of(line);
        if (std::stoul(f.at(1)) > options_.last_step) continue;
        targets.push_back({rank, std::stoul(f[0]), f.at(2), f.at(3), f.at(4), f.at(5), f[1]});
      }
    }
    if (targets.empty()) throw std::runtime_error("no place was found; does mpirun start jobs?");
    constexpr std::array faults{"kill", "stop", "exit"};
    const auto drawn = [&] {
      return Kill{targets[random_() % targets.size()], faults[random_() % faults.size()]};
    };
    std::set<std::string> coarse, fine;
    for (const Target& target : targets) {
      for (const char* fault : faults) {
        coarse.merge(set_of(traits({target, fault}, false)));
        fine.merge(set_of(traits({target, fault}, true)));
      }
    }
    fine_ = fine.size() <= options_.count;
    must_ = fine_ ? fine : coarse;
    std::set<std::string> open = must_;
    const auto covers = [&](const Kill& kill) {
      return std::ranges::count_if(traits(kill, fine_),
                                   [&](const auto& trait) { return open.contains(trait); });
    };
    for (std::size_t i = 0; i < options_.count; ++i) {
      Kill best = drawn();
      for (int tries = 0; tries < 2000 && !open.empty(); ++tries) {
        const Kill other = drawn();
        if (covers(other) > covers(best)) best = other;
      }
      if (!open.empty() && covers(best) == 0) {  // what is left is rare
        for (const Target& target : targets) {
          if (const Kill other{target, best.how}; covers(other) > 0) best = other;
        }
      }
      for (const auto& trait : traits(best, fine_)) open.erase(trait);
      kills_.push_back(best);
    }
    if (!open.empty()) throw std::runtime_error("so few kills cannot hit everything; do more");
    std::cout << must_.size() << " kinds of places of " << targets.size() << " places\n";
  }
  static std::set<std::string> set_of(const std::vector<std::string>& list) {
    return {list.begin(), list.end()};
  }

  /// The hash of the weights of a job that loses no rank.
  const std::string& reference(const std::string& job) {
    std::string& known = references_[job];
    if (known.empty()) {
      const Directory directory;
      known = hash_of(launch(directory.path, "train '" + job + "'"));
      if (known.empty()) throw std::runtime_error("'" + job + "' does not train undisturbed");
    }
    return known;
  }
  /// The one that all ranks print, or nothing.
  [[nodiscard]] std::string hash_of(const std::vector<Line>& lines) const {
    std::set<std::string> hashes;
    for (const Line& line : lines) {
      if (line.size() == 4 && line[0] == "trained") hashes.insert(line[3]);
    }
    const bool all = count(lines, "trained") == static_cast<std::size_t>(options_.ranks);
    return all && hashes.size() == 1 && count(lines, "complaint") == 0 ? *hashes.begin() : "";
  }

  std::vector<std::string> judge(const Kill& kill) {
    const Target& target = kill.target;
    const auto survivors = static_cast<std::size_t>(options_.ranks - 1);
    const std::string& right = reference(target.job);
    const Directory directory;
    std::vector<std::string> wrong;
    bool buried = false;
    const auto lines =
        launch(directory.path,
               "fault '" + target.job + "' " + std::to_string(target.victim) + " " +
                   std::to_string(target.place) + " " + kill.how,
               [&](const std::vector<Line>& so_far) {  // what is stopped would keep mpirun waiting
                 if (buried || count(so_far, "lost") + count(so_far, "trained") < survivors) return;
                 for (const Line& line : so_far) {
                   if (line[0] == "hit") ::kill(static_cast<pid_t>(std::stol(line[1])), SIGKILL);
                 }
                 buried = true;
               });
    if (count(lines, "hit") != 1) {
      wrong.push_back("the place was not reached");
    } else {
      for (const auto& trait : traits(kill, fine_)) hit_.insert(trait);
    }
    if (count(lines, "lost") != survivors) {
      wrong.push_back("not every survivor tells of the loss");
    }
    for (const Line& line : lines) {
      if (line.at(0) == "complaint") wrong.push_back(line.at(1));
      if (line[0] != "lost" || line.size() < 8) continue;
      const double waited = std::stod(line[3]);
      longest_ = std::max(longest_, waited);
      if (waited > static_cast<double>(options_.timeout) / 1000 + 1) {
        wrong.push_back("rank " + line[1] + " waited " + line[3] + " s");
      }
      if (line[4].empty()) wrong.push_back("no collective is named: " + line[7]);
      if (line[5] == "-" && target.job != "collectives") {
        wrong.push_back("no step is named: " + line[7]);
      }
      if (line[6] == "-1") wrong.push_back("no rank is named: " + line[7]);
      named_ += line[6] == std::to_string(target.victim) ? 1 : 0;
      ++told_;
    }
    if (hash_of(launch(directory.path, "resume '" + target.job + "'")) != right) {
      wrong.push_back("resumed, it does not end with the bits of a job that lost no rank");
    }
    return wrong;
  }

  Options options_;
  std::mt19937_64 random_;
  bool fine_ = false;
  std::vector<Kill> kills_;
  std::set<std::string> must_, hit_;
  std::map<std::string, std::string> references_;
  double longest_ = 0;
  std::size_t named_ = 0, told_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Loses ranks of MPI jobs, and judges what the others make of it"};
  app.add_option("program", options.program, "lost_peers, as built")->required();
  app.add_option("--mpirun", options.mpirun, "Open MPI's launcher")->capture_default_str();
  app.add_option("--ranks", options.ranks)->capture_default_str();
  app.add_option("--count", options.count, "kills")->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_option("--timeout", options.timeout, "the deadline, in milliseconds")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return Trial(options).run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trains all jobs on the ranks of MPI for a given time or number of steps, through masks that move,
// strays, refused steps, checkpoints and restarts. After every step weights are compared, bit for
// bit, with those of a replica whose ranks are threads of rank 0 and which is never restarted, and
// results, where nothing is lost, with the oracle: serial, dense, in double. Memory must not grow.
#include <suite/values.hpp>

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/host/communicator.hpp>
#include <pactrain/host/thread_team.hpp>
#include <pactrain/mpi/backend.hpp>

#include <CLI/CLI.hpp>
#include <malloc.h>
#include <mpi.h>
#include <oracle.hpp>
#include <reliability/job.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::minutes patience{5};

struct Options {
  double seconds = 0;
  Step steps = 0;
  std::uint64_t seed = 1;
};

using Jobs = std::vector<std::unique_ptr<Job>>;
Jobs made(FaultyBackend& backend, FaultPlan& plan, std::uint64_t seed) {
  Jobs jobs;
  for (const JobMaker& maker : all_jobs()) jobs.push_back(maker.make(backend, plan, seed));
  return jobs;
}
std::vector<std::string> saved(const Jobs& jobs) {
  std::vector<std::string> states;
  for (const auto& job : jobs) {
    std::ostringstream out;
    job->save(out);
    states.push_back(std::move(out).str());
  }
  return states;
}
void load(const Jobs& jobs, const std::vector<std::string>& states) {
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    std::istringstream in(states[j]);
    jobs[j]->load(in);
  }
}

/// The same jobs on threads of this process.
class Replica {
 public:
  Replica(int ranks, std::uint64_t seed) : ranks_(static_cast<std::size_t>(ranks)) {
    const auto team = std::make_shared<ThreadTeam>(ranks, patience);
    for (int rank = 0; rank < ranks; ++rank) {
      auto& one = ranks_[static_cast<std::size_t>(rank)];
      one = std::make_unique<Rank>();
      one->backend.emplace(faulty(ThreadCommunicator(team, rank), one->plan));
    }
    on_all([&](Rank& rank) { rank.jobs = made(*rank.backend, rank.plan, seed); });
  }
  void advance(std::size_t job) {
    on_all([&](Rank& rank) { rank.jobs[job]->advance(); });
  }
  [[nodiscard]] const Job& job(std::size_t j) const { return *ranks_[0]->jobs[j]; }
  void keep() {
    on_all([](Rank& rank) { rank.states = saved(rank.jobs); });
  }
  void rewind() {
    on_all([](Rank& rank) { load(rank.jobs, rank.states); });
  }

 private:
  struct Rank {
    FaultPlan plan;
    std::optional<FaultyBackend> backend;
    Jobs jobs;
    std::vector<std::string> states;
    std::exception_ptr failure;
  };
  template <class F>
  void on_all(F f) {
    {
      std::vector<std::jthread> threads;
      for (auto& rank : ranks_) {
        threads.emplace_back([&] {
          try {
            f(*rank);
          } catch (...) {
            rank->failure = std::current_exception();
          }
        });
      }
    }
    for (auto& rank : ranks_) {
      if (rank->failure) std::rethrow_exception(rank->failure);
    }
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
};

struct Counts {
  Step steps = 0;
  std::uint64_t refused = 0, strays = 0, mask_changes = 0, checkpoints = 0, restarts = 0,
                rewinds = 0, by_oracle = 0, by_replica = 0, differences = 0;
};

class Soak {
 public:
  explicit Soak(Options options) : options_(options) {
    start();
    jobs_ = made(*backend_, plan_, options_.seed);
    for (const auto& job : jobs_) oracles_.push_back(job->oracle());
    masks_.resize(jobs_.size());
    if (rank() == 0) replica_ = std::make_unique<Replica>(ranks(), options_.seed);
  }

  int run() {
    const Clock::time_point begin = Clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(Clock::now() - begin).count();
    };
    double warm = 0;
    const auto is_warm = [&] {
      return options_.steps != 0 ? counts_.steps >= options_.steps / 4
                                 : elapsed() >= options_.seconds / 5;
    };
    double next_word = 60;
    while (on_all(options_.steps != 0 ? counts_.steps < options_.steps
                                      : elapsed() < options_.seconds)) {
      for (std::size_t j = 0; j < jobs_.size(); ++j) advance(j);
      ++counts_.steps;
      disturb();
      if (warm == 0 && on_all(is_warm())) warm = resident();
      if (rank() == 0 && elapsed() > next_word) {
        std::cout << "after " << static_cast<int>(elapsed()) << " s: " << counts_.steps
                  << " steps, " << counts_.differences << " differences, "
                  << static_cast<int>(resident()) << " MiB" << std::endl;
        next_word += 60;
      }
    }
    return tell(elapsed(), warm, resident());
  }

 private:
  [[nodiscard]] int rank() { return backend_->communicator().rank(); }
  [[nodiscard]] int ranks() { return backend_->communicator().size(); }
  /// What rank 0 says.
  static bool on_all(bool mine) {
    int told = mine ? 1 : 0;
    MPI_Bcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return told != 0;
  }
  /// Of this process, in MiB.
  static double resident() {
    std::ifstream statm("/proc/self/statm");
    double pages = 0;
    statm >> pages >> pages;
    return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
  }

  void start() {
    backend_.emplace(faulty(MpiCommunicator(MPI_COMM_WORLD, {.timeout = patience}), plan_));
  }

  void advance(std::size_t j) {
    Job& job = *jobs_[j];
    std::vector<std::vector<double>> gradients;
    const std::size_t complaints = job.complaints().size();
    if (oracles_[j]) {
      for (int r = 0; r < ranks(); ++r) {
        const auto gradient = job.gradient_of(r);
        gradients.emplace_back(gradient.begin(), gradient.end());
      }
      const Events events = Events::of(options_.seed, job.step(), ranks(), gradients[0].size());
      const bool strays = job.name() == "learned";
      (strays ? counts_.strays : counts_.refused) += events.unusual ? 1 : 0;
    }
    job.advance();
    for (std::size_t i = complaints; i < job.complaints().size(); ++i) differs(job.complaints()[i]);
    if (oracles_[j]) compare_with_oracle(j, gradients);
    compare_with_replica(j);
  }
  void compare_with_oracle(std::size_t j, const std::vector<std::vector<double>>& gradients) {
    Job& job = *jobs_[j];
    std::vector<bool> kept = job.kept();
    const auto expected = oracles_[j]->step(gradients, kept);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double error = std::abs(expected[i] - static_cast<double>(job.result()[i]));
      if (error <= 1e-4 * (1 + std::abs(expected[i]))) continue;
      differs(job.name() + ": entry " + std::to_string(i) + " is " +
              std::to_string(job.result()[i]) + " where the oracle has " +
              std::to_string(expected[i]));
      break;
    }
    if (masks_[j] != kept) {
      ++counts_.mask_changes;
      masks_[j] = std::move(kept);
    }
    ++counts_.by_oracle;
  }
  void compare_with_replica(std::size_t j) {
    const Job& job = *jobs_[j];
    std::uint64_t mine = job.weights().size();
    bool finite = true;
    for (const float weight : job.weights()) {
      mine = kernel::mix(mine, std::bit_cast<std::uint32_t>(weight));
      finite = finite && std::isfinite(weight);
    }
    if (!finite) differs(job.name() + ": weights are not finite");
    std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks()));
    MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    if (std::ranges::count(all, mine) != ranks()) differs(job.name() + ": ranks differ");
    if (!replica_) return;
    replica_->advance(j);
    if (!same_bits(replica_->job(j).weights(), job.weights())) {
      differs(job.name() + ": threads have other weights");
    }
    ++counts_.by_replica;
  }
  void differs(const std::string& what) {
    if (counts_.differences++ < 10) {
      std::cerr << "rank " << rank() << ", step " << counts_.steps << ": " << what << std::endl;
    }
  }

  /// Now and then: a checkpoint, a restart from now, or one from the last checkpoint.
  void disturb() {
    const std::uint64_t draw = kernel::mix(options_.seed, ~counts_.steps);
    if (draw % 8 == 0 || states_.empty()) keep();
    if (draw / 8 % 16 == 0) restart(saved(jobs_));
    if (draw / 128 % 16 == 0) {
      ++counts_.rewinds;
      restart(states_);
      oracles_.clear();
      for (const auto& oracle : kept_oracles_) {
        oracles_.push_back(oracle ? std::make_unique<Oracle>(*oracle) : nullptr);
      }
      if (replica_) replica_->rewind();
    }
  }
  void keep() {
    ++counts_.checkpoints;
    states_ = saved(jobs_);
    kept_oracles_.clear();
    for (const auto& oracle : oracles_) {
      kept_oracles_.push_back(oracle ? std::make_unique<Oracle>(*oracle) : nullptr);
    }
    if (replica_) replica_->keep();
  }
  /// Everything anew, down to the communicator, with these states.
  void restart(const std::vector<std::string>& states) {
    ++counts_.restarts;
    jobs_.clear();
    backend_.reset();
    start();
    jobs_ = made(*backend_, plan_, options_.seed);
    load(jobs_, states);
  }

  int tell(double seconds, double warm, double now) {
    const double mine[] = {warm, now, static_cast<double>(counts_.differences)};
    std::vector<double> all(3 * static_cast<std::size_t>(ranks()));
    MPI_Allgather(mine, 3, MPI_DOUBLE, all.data(), 3, MPI_DOUBLE, MPI_COMM_WORLD);
    const bool judged = counts_.steps >= 200;
    bool failed = false;
    std::ostringstream memory;
    for (std::size_t r = 0; r < all.size() / 3; ++r) {
      const double growth = 100 * (all[3 * r + 1] / all[3 * r] - 1);
      failed = failed || all[3 * r + 2] != 0 || (judged && growth >= 1);
      memory << (r == 0 ? "" : ", ") << all[3 * r] << " -> " << all[3 * r + 1] << " MiB (" << growth
             << " %" << (judged ? ")" : ", not judged in so few steps)");
    }
    if (rank() == 0) {
      std::cout << counts_.steps << " steps of " << jobs_.size() << " jobs on " << ranks()
                << " ranks in " << seconds << " s (seed " << options_.seed << ")\n"
                << "faults: " << counts_.refused << " refused steps, " << counts_.strays
                << " strays, " << counts_.restarts << " restarts, " << counts_.rewinds
                << " of them from a checkpoint before; " << counts_.checkpoints << " checkpoints, "
                << counts_.mask_changes << " changes of masks\n"
                << "compared: " << counts_.by_oracle << " results with the oracle, "
                << counts_.by_replica << " weights with threads\n"
                << "memory from warm to the end, by rank: " << memory.str() << "\n"
                << (failed   ? "FAILED"
                    : judged ? "no difference, memory flat"
                             : "no difference")
                << std::endl;
    }
    return failed ? 1 : 0;
  }

  Options options_;
  FaultPlan plan_;
  std::optional<FaultyBackend> backend_;
  Jobs jobs_;
  std::vector<std::unique_ptr<Oracle>> oracles_, kept_oracles_;
  std::vector<std::string> states_;
  std::vector<std::vector<bool>> masks_;
  std::unique_ptr<Replica> replica_;
  Counts counts_;
};

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_ARENA_MAX, 1);  // an arena for each of the replica's threads would grow by chance
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  Options options;
  CLI::App app{"Trains for long, through faults, and compares every step"};
  app.add_option("--seconds", options.seconds, "how long, unless steps are given");
  app.add_option("--steps", options.steps, "how many steps");
  app.add_option("--seed", options.seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  int failed = 1;
  try {
    failed = Soak(options).run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return failed;
}

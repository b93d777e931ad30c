// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank of a job under MPI, one of whose ranks may be killed, stopped or end in the middle of it.
// `reliability.kills` starts it, and reads what it prints:
//
//   lost_peers DIR SEED TIMEOUT_MS census         notes all places of each rank in DIR/places.RANK
//   lost_peers DIR SEED TIMEOUT_MS train JOB      trains, and prints a hash of the weights
//   lost_peers DIR SEED TIMEOUT_MS fault JOB VICTIM PLACE kill|stop|exit
//   lost_peers DIR SEED TIMEOUT_MS resume JOB     from the last step of which DIR has all states
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/mpi/backend.hpp>

#include <mpi.h>
#include <reliability/job.hpp>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

constexpr Step steps = 6;
using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string directory;
  std::uint64_t seed = 0;
  std::chrono::milliseconds timeout{};
};

/// One line on standard output, whole even where ranks write at once.
void say(const std::string& line) {
  const std::string whole = line + "\n";
  static_cast<void>(!write(STDOUT_FILENO, whole.data(), whole.size()));
}
std::string state_file(const Arguments& with, int rank, Step step) {
  return with.directory + "/state." + std::to_string(rank) + "." + std::to_string(step);
}
std::string state_of(Job& job) {
  std::ostringstream out;
  job.save(out);
  return out.str();
}
void save(Job& job, const Arguments& with, int rank) {
  const std::string path = state_file(with, rank, job.step()), fresh = path + ".new";
  std::ofstream(fresh, std::ios::binary) << state_of(job);
  std::filesystem::rename(fresh, path);
}
std::uint64_t hash(const std::vector<float>& values) {
  std::uint64_t sum = values.size();
  for (const float value : values) sum = kernel::mix(sum, std::bit_cast<std::uint32_t>(value));
  return sum;
}
/// MPI, one rank of whose world is lost, cannot be finalised.
[[noreturn]] void end() {
  std::fflush(nullptr);
  std::_Exit(0);
}

class Rank {
 public:
  Rank(const Arguments& with, MPI_Comm comm)
      : with_(with),
        backend_(faulty(MpiCommunicator(comm, {.timeout = with.timeout, .segment = 512}), plan_)) {}

  [[nodiscard]] int number() const { return rank_; }
  [[nodiscard]] FaultPlan& plan() { return plan_; }
  [[nodiscard]] std::unique_ptr<Job> make(const std::string& name) {
    for (const JobMaker& maker : all_jobs()) {
      if (maker.name == name) return maker.make(backend_, plan_, with_.seed);
    }
    throw Error("no job is called " + name);
  }
  void census() {
    std::vector<Place> places;
    plan_.record(places);
    std::ofstream out(with_.directory + "/places." + std::to_string(rank_));
    for (const JobMaker& maker : all_jobs()) {
      const auto job = maker.make(backend_, plan_, with_.seed);
      places.clear();
      for (Step step = 0; step < steps; ++step) job->advance();
      for (std::size_t i = 0; i < places.size(); ++i) {
        out << i << '\t' << places[i].step << '\t' << places[i].job << '\t' << places[i].stage
            << '\t' << places[i].operation << '\t' << places[i].moment << '\n';
      }
    }
  }
  /// Trains to the end, saving each step; tells of a lost rank.
  void train(Job& job) {
    Clock::time_point begin;
    try {
      while (job.step() < steps) {
        save(job, with_, rank_);
        begin = Clock::now();
        job.advance();
      }
    } catch (const WaitError& error) {
      report(job, error, Clock::now() - begin);
    }
    for (const std::string& complaint : job.complaints()) say("complaint\t" + complaint);
    say("trained\t" + std::to_string(rank_) + "\t" + std::to_string(job.step()) + "\t" +
        std::to_string(hash(job.weights())));
  }
  /// Goes on from the youngest step whose state every rank has saved.
  void resume(Job& job) {
    Step from = steps;
    const int size = backend_.communicator().size();
    const auto missing = [&](Step step) {
      for (int rank = 0; rank < size; ++rank) {
        if (!std::filesystem::exists(state_file(with_, rank, step))) return true;
      }
      return false;
    };
    while (missing(from)) --from;
    std::ifstream in(state_file(with_, rank_, from), std::ios::binary);
    job.load(in);
    train(job);
  }

 private:
  void report(Job& job, const WaitError& error, Clock::duration waited) {
    const bool expired = dynamic_cast<const DeadlineExceeded*>(&error) != nullptr;
    const double seconds = std::chrono::duration<double>(waited).count();
    std::ifstream before(state_file(with_, rank_, job.step()), std::ios::binary);
    const std::string saved{std::istreambuf_iterator<char>(before), {}};
    if (state_of(job) != saved) say("complaint\tthe state after the loss is another");
    save(job, with_, rank_);
    std::string later = "nothing";
    try {
      float x = 0;
      all_reduce(backend_.executor(), backend_.communicator(), std::span(&x, 1), Sum{});
    } catch (const BackendError& unusable) {
      later = unusable.what();
    }
    if (later.find("is unusable since") == std::string::npos) say("complaint\tlater: " + later);
    const auto number = [](auto step) { return step ? std::to_string(*step) : std::string("-"); };
    say("lost\t" + std::to_string(rank_) + "\t" + (expired ? "DeadlineExceeded" : "PeerLost") +
        "\t" + std::to_string(seconds) + "\t" + error.operation() + "\t" + number(error.step()) +
        "\t" + std::to_string(error.rank()) + "\t" + error.what());
    for (const std::string& complaint : job.complaints()) say("complaint\t" + complaint);
    end();
  }

  const Arguments& with_;
  FaultPlan plan_;
  FaultyBackend backend_;
  int rank_ = backend_.communicator().rank();
};

void fail(const std::string& how, const Place& place) {
  say("hit\t" + std::to_string(getpid()) + "\t" + place.name());
  if (how == "kill") std::raise(SIGKILL);
  if (how == "stop") std::raise(SIGSTOP);
  std::_Exit(3);
}

void run(int argc, char** argv) {
  const std::vector<std::string> given(argv + 1, argv + argc);
  const Arguments with{given.at(0), std::stoull(given.at(1)),
                       std::chrono::milliseconds(std::stol(given.at(2)))};
  Rank rank(with, MPI_COMM_WORLD);
  const std::string& what = given.at(3);
  if (what == "census") return rank.census();
  const auto job = rank.make(given.at(4));
  if (what == "resume") return rank.resume(*job);
  if (what == "fault" && rank.number() == std::stoi(given.at(5))) {
    const std::string how = given.at(7);
    rank.plan().arm(std::stoull(given.at(6)), [how](const Place& place) { fail(how, place); });
  }
  rank.train(*job);
  if (what == "fault") end();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    run(argc, argv);
  } catch (const std::exception& error) {
    say(std::string("complaint\t") + error.what());
    end();
  }
  MPI_Finalize();
}

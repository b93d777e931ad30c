// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that throws, returns early or never arrives, at every collective and in every stage: the
// others hear of it, by name, and nothing of theirs has changed.
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/host/backend.hpp>

#include <doctest/doctest.h>
#include <reliability/job.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <latch>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

constexpr int ranks = 3;
constexpr Step steps = 6;  // faults are drawn from those before the last two
constexpr std::uint64_t seed = 3;
constexpr std::chrono::seconds patience{60};
constexpr std::chrono::milliseconds deadline{500};  // of a machine that is busy

enum class Kind { throws, leaves, stays };
constexpr const char* name_of(Kind kind) {
  constexpr std::array names{"throws", "leaves", "stays away"};
  return names[static_cast<std::size_t>(kind)];
}

/// No std::exception, which a reducer takes for a policy's refusal of a call.
struct Planned {};

/// What became of a rank.
struct Outcome {
  std::string error = "none", text, later;
  std::string operation;
  int lost = -1;
  std::vector<std::string> complaints;
};
using Outcomes = std::array<Outcome, ranks>;

template <class Body>
void run(std::chrono::nanoseconds timeout, Body body) {
  try {
    on_threads(ranks, body, timeout);
  } catch (const Planned&) {
  }
}

/// All places of a run without faults, by rank.
std::array<std::vector<Place>, ranks> census(const JobMaker& maker) {
  std::array<std::vector<Place>, ranks> places;
  run(patience, [&](HostBackend& host) {
    const int rank = host.communicator().rank();
    FaultPlan plan;
    plan.record(places[static_cast<std::size_t>(rank)]);
    FaultyBackend backend = faulty(std::move(host.communicator()), plan);
    const auto job = maker.make(backend, plan, seed);
    for (Step step = 0; step < steps; ++step) job->advance();
    CHECK(job->complaints().empty());
  });
  return places;
}

Outcomes with_fault(const JobMaker& maker, int victim, std::size_t target, Kind kind) {
  Outcomes outcomes;
  std::latch survivors(ranks - 1);
  run(kind == Kind::stays ? std::chrono::nanoseconds(deadline) : patience, [&](HostBackend& host) {
    const int rank = host.communicator().rank();
    Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    FaultPlan plan;
    if (rank == victim) {
      plan.arm(target, [&](const Place&) {
        if (kind == Kind::stays) survivors.wait();
        throw Planned();
      });
    }
    FaultyBackend backend = faulty(std::move(host.communicator()), plan);
    const auto job = maker.make(backend, plan, seed);
    try {
      for (Step step = 0; step < steps; ++step) job->advance();
    } catch (const Planned&) {
      outcome.error = "planned";
      if (kind == Kind::throws) throw;
      return;
    } catch (const PeerLost& error) {
      outcome = {"PeerLost", error.what(), {}, error.operation(), error.rank(), {}};
    } catch (const DeadlineExceeded& error) {
      outcome = {"DeadlineExceeded", error.what(), {}, error.operation(), error.rank(), {}};
    } catch (const std::exception& error) {
      outcome = {"another error", error.what(), {}, {}, -1, {}};
    }
    outcome.complaints = job->complaints();
    try {
      float x = 0;
      all_reduce(backend.executor(), backend.communicator(), std::span(&x, 1), Sum{});
    } catch (const BackendError& error) {
      outcome.later = error.what();
    }
    survivors.count_down();
  });
  return outcomes;
}

void judge(const Outcomes& outcomes, int victim, Kind kind) {
  for (int rank = 0; rank < ranks; ++rank) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    CAPTURE(rank);
    CAPTURE(outcome.text);
    if (rank == victim) {
      CHECK(outcome.error == "planned");
      continue;
    }
    CHECK(outcome.error == (kind == Kind::stays ? "DeadlineExceeded" : "PeerLost"));
    CHECK(!outcome.operation.empty());
    CHECK(outcome.text.find(outcome.operation) != std::string::npos);
    CHECK(outcome.text.find("rank " + std::to_string(victim)) != std::string::npos);
    if (kind != Kind::stays) CHECK(outcome.lost == victim);
    for (const std::string& complaint : outcome.complaints) FAIL_CHECK(complaint);
    CHECK_MESSAGE(
        outcome.later.find("is unusable since an earlier call failed") < outcome.later.size(),
        outcome.later);
  }
}

}  // namespace

TEST_CASE("a thread that throws, returns early or stays away, anywhere") {
  std::mt19937_64 random(1);
  std::set<std::string> stages, operations, awaited;
  for (const JobMaker& maker : all_jobs()) {
    const auto places = census(maker);
    for (int victim = 0; victim < ranks; ++victim) {
      const auto& list = places[static_cast<std::size_t>(victim)];
      std::map<std::string, std::vector<std::size_t>> by_name;
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (list[i].step + 2 < steps) by_name[list[i].name()].push_back(i);
      }
      for (const auto& [name, where] : by_name) {
        const std::size_t target = where[random() % where.size()];
        const Place& place = list[target];
        stages.insert(place.stage);
        operations.insert(place.operation);
        std::vector<Kind> kinds{random() % 2 == 0 ? Kind::throws : Kind::leaves};
        if (awaited.insert(place.stage + place.operation + place.moment).second) {
          kinds = {Kind::throws, Kind::leaves, Kind::stays};
        }
        for (const Kind kind : kinds) {
          const std::string what = std::string("rank ") + std::to_string(victim) + " " +
                                   name_of(kind) + ": " + name + ", step " +
                                   std::to_string(place.step);
          CAPTURE(what);
          judge(with_fault(maker, victim, target, kind), victim, kind);
        }
      }
    }
  }
  CHECK(stages == std::set<std::string>{"", "assign", "collective", "commit", "decode", "encode",
                                        "keep", "pack", "unpack"});
  CHECK(operations == std::set<std::string>{"", "all_gather", "all_reduce", "all_to_all",
                                            "broadcast", "reduce_scatter"});
}

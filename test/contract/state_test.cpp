// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is saved is what is loaded, for every compressor; and nothing else is.
#include <suite/sparse_all_reduce_law.hpp>

#include <contract/replica.hpp>
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::contract;

namespace {

/// A fresh one goes on bit for bit, from whatever step.
template <GradientValue T>
void a_state_goes_on(Team& backend, const System& system) {
  for (const Step at : {Step{0}, Step{1}, Step{3}}) {
    CAPTURE(at);
    Replica<T> first(backend, system, matrices), second(backend, system, matrices);
    for (Step step = 0; step < at; ++step) first.step(step);
    second.restore(first.saved());
    CHECK(second.reducer().step() == at);
    for (Step step = at; step < at + 2; ++step) {
      CHECK(same_bits(first.step(step), second.step(step)));
    }
    CHECK(first.saved() == second.saved());
  }
}

/// The states of so many ranks after some steps of sums, and the sums of what went in and came out.
struct Past {
  std::vector<std::string> states;
  std::vector<double> owed, given;
};
constexpr Step past_steps = 3;
constexpr ReduceOptions summing{.reduction = Reduction::sum};

Past past_of(const System& system, int ranks) {
  Past past;
  past.states.resize(static_cast<std::size_t>(ranks));
  past.owed.resize(matrices.size());
  past.given.resize(matrices.size());
  std::mutex mutex;
  on_thread_team(ranks, [&](Team& backend) {
    Replica<float> replica(backend, system, matrices, summing);
    for (Step step = 0; step < past_steps; ++step) {
      const auto gradient = replica.gradient_of(replica.rank(), step);
      const auto result = replica.reduce(gradient).values;
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < result.size(); ++i) {
        past.owed[i] += double{gradient[i]};
        if (replica.rank() == 0) past.given[i] += double{result[i]};
      }
    }
    past.states[static_cast<std::size_t>(replica.rank())] = replica.saved();
  });
  return past;
}

/// Takes two steps, alike on all ranks, after which what came out and what waits is what went in,
/// then and in the past, where the system promises that.
void goes_on(Team& backend, Replica<float>& replica, const Past& past) {
  std::vector<double> owed = past.owed, given = past.given;
  for (Step step = past_steps; step < past_steps + 2; ++step) {
    for (int rank = 0; rank < replica.ranks(); ++rank) {
      const auto gradient = replica.gradient_of(rank, step);
      for (std::size_t i = 0; i < owed.size(); ++i) owed[i] += double{gradient[i]};
    }
    const auto result = replica.step(step);
    CHECK(same_on_all(backend, result));
    for (std::size_t i = 0; i < given.size(); ++i) given[i] += double{result[i]};
  }
  const Promises& promises = replica.system().promises;
  if (!promises.conserves) return;
  const auto residual = reducer::residual_in<float>(replica.saved(), owed.size());
  const auto all = gather_host_values(backend.executor(), backend.communicator(),
                                      std::span<const float>(residual));
  const auto kept = replica.kept();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < owed.size(); ++i) {
    if (promises.prunes && !kept[i]) continue;
    double waiting = 0;
    for (std::size_t at = i; at < all.size(); at += owed.size()) waiting += double{all[at]};
    const double tolerance = promises.halves ? 32 : 0.01;
    wrong += std::abs(given[i] + waiting - owed[i]) <= tolerance ? 0 : 1;
  }
  CHECK(wrong == 0);
}

/// Loads the states of a past into this rank's reducer.
void load(Replica<float>& replica, const Past& past, Residuals rule) {
  std::vector<std::istringstream> streams;
  for (const std::string& state : past.states) streams.emplace_back(state);
  std::vector<std::istream*> states;
  for (auto& stream : streams) states.push_back(&stream);
  replica.reducer().load(states, rule);
}

}  // namespace

TEST_CASE("a saved state goes on bit for bit") {
  for_all([](Team& backend, const System& system) {
    for_gradient_types([&]<class T>() { a_state_goes_on<T>(backend, system); });
  });
}

TEST_CASE("a state that is cut short, damaged, or of another reducer") {
  for_all([](Team& backend, const System& system) {
    if (backend.communicator().size() > 2) return;
    Replica<float> source(backend, system, matrices), target(backend, system, matrices),
        fresh(backend, system, matrices), small(backend, system, words),
        sums(backend, system, matrices, {.reduction = Reduction::sum});
    for (Step step = 0; step < 3; ++step) source.step(step);
    target.step(0);
    small.step(0);
    const std::string state = source.saved(), before = target.saved(), empty = fresh.saved();
    std::size_t accepted = 0;
    const auto refuses = [&](Replica<float>& replica, const std::string& damaged) -> std::string {
      try {
        replica.restore(damaged);
        ++accepted;
      } catch (const StateError& error) {
        return error.what();
      }
      return {};
    };
    for (std::size_t at = 0; at < state.size(); at += 29) {
      std::string damaged = state;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      for (Replica<float>* replica : {&target, &fresh}) {
        refuses(*replica, state.substr(0, at));
        refuses(*replica, damaged);
      }
    }
    CHECK(refuses(small, state).find("of another model") != std::string::npos);
    CHECK(refuses(sums, state).find("another options") != std::string::npos);
    CHECK(accepted == 0);
    CHECK(target.saved() == before);
    CHECK(fresh.saved() == empty);
  });
}

TEST_CASE("another number of ranks takes over: steps go on, and nothing that waits is lost") {
  for (const System& system : systems()) {
    if (2 % system.promises.node != 0) continue;
    SUBCASE(system.name.c_str()) {
      for (const int before : {2, 5}) {
        if (before % system.promises.node != 0) continue;
        const Past past = past_of(system, before);
        for (const int ranks : team_sizes()) {
          if (ranks > 3 || ranks == before || ranks % system.promises.node != 0) continue;
          CAPTURE(before);
          CAPTURE(ranks);
          on_team(ranks, [&](Team& backend) {
            Replica<float> shared(backend, system, matrices, summing),
                dropped(backend, system, matrices, summing);
            const std::string fresh = shared.saved();
            const std::vector<double> nothing(matrices.size());
            if (system.promises.bytes) {
              CHECK_THROWS_AS(load(shared, past, Residuals::shared), StateError);
              CHECK(shared.saved() == fresh);
            }
            load(dropped, past, Residuals::dropped);
            CHECK(dropped.reducer().step() == past_steps);
            goes_on(backend, dropped, Past{{}, nothing, nothing});
            if (!system.promises.conserves) return;
            load(shared, past, Residuals::shared);
            goes_on(backend, shared, past);
          });
        }
      }
    }
  }
}

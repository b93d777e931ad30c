// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every compressor refuses, on all ranks, with everything as it was.
#include <contract/replica.hpp>
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::contract;

namespace {

/// A reducer that goes through a bad call, and one that does not and is otherwise alike.
template <GradientValue T>
struct Pair {
  Pair(Team& backend, const System& system, NonFinite rule = NonFinite::reject)
      : disturbed(backend, system, matrices, {.non_finite = rule}),
        fresh(backend, system, matrices, {.non_finite = rule}) {}
  void check_alike(Step step) {
    CHECK(disturbed.reducer().step() == step);
    CHECK(same_bits(disturbed.step(step), fresh.step(step)));
    CHECK(disturbed.saved() == fresh.saved());
  }
  Replica<T> disturbed, fresh;
};

std::string blame(int rank) { return "rank " + std::to_string(rank) + ": "; }

template <GradientValue T>
void a_step_is_refused_as_a_whole(Team& backend, const System& system, T bad) {
  for (int culprit = 0; culprit < backend.communicator().size(); ++culprit) {
    CAPTURE(culprit);
    Pair<T> pair(backend, system);
    auto& replica = pair.disturbed;
    for (Step step = 0; step < 2; ++step) {
      auto gradient = replica.gradient_of(replica.rank(), step);
      if (replica.rank() == culprit) gradient[100] = bad;
      replica.set(gradient);
      const std::string text = refusal<StepRejected>(backend, [&] {
        replica.reducer().start(replica.shape().named(replica.span()), {}).wait();
      });
      CHECK_MESSAGE(text.find(blame(culprit) + "entry 93 of 'p1'") != text.npos, text);
      CHECK(same_bits(replica.get(), gradient));
      pair.check_alike(step);
    }
  }
}

}  // namespace

TEST_CASE("a step with a value that is not finite is refused as a whole") {
  for_all([](Team& backend, const System& system) {
    a_step_is_refused_as_a_whole(backend, system, std::numeric_limits<float>::quiet_NaN());
    a_step_is_refused_as_a_whole(backend, system, float16(-std::numeric_limits<float>::infinity()));
  });
}

TEST_CASE("or carries on, on all ranks alike, and a step later all is well") {
  for_all([](Team& backend, const System& system) {
    for (int culprit = 0; culprit < backend.communicator().size(); ++culprit) {
      Replica<float> replica(backend, system, matrices, {.non_finite = NonFinite::propagate});
      replica.step(0);
      auto gradient = replica.gradient_of(replica.rank(), 1);
      const std::size_t place = 100;
      if (replica.rank() == culprit) gradient[place] = std::numeric_limits<float>::infinity();
      const auto [result, report] = replica.reduce(gradient);
      CHECK(report.non_finite);
      CHECK(same_on_all(backend, result));
      const bool kept = replica.kept()[place];
      std::size_t others = 0;
      for (std::size_t i = 0; i < result.size(); ++i) {
        others += i == place || std::isfinite(result[i]) ? 0 : 1;
      }
      CHECK(others == 0);
      CHECK(result[place] == (kept ? std::numeric_limits<float>::infinity() : 0.0f));
      for (Step step = 2; step < 4; ++step) {
        for (const float x : replica.step(step)) {
          if (!std::isfinite(x)) FAIL_CHECK("a value is not finite a step later");
        }
      }
    }
  });
}

TEST_CASE("a rank that passes another size, or a name that is not known") {
  for_all([](Team& backend, const System& system) {
    for (int culprit = 0; culprit < backend.communicator().size(); ++culprit) {
      Pair<float> pair(backend, system);
      auto& replica = pair.disturbed;
      const bool mine = replica.rank() == culprit;
      std::vector<float> longer(replica.size() + 1, 1.0f);
      const auto passes = [&](const Slices<float>& wrong) {
        const auto right = replica.shape().named(replica.span());
        return refusal<PreconditionError>(
            backend, [&] { replica.reducer().start(mine ? wrong : right, {}).wait(); });
      };
      pair.check_alike(0);
      const std::string size = passes({{{}, longer}});
      CHECK_MESSAGE(
          size.find(blame(culprit) + "461 entries were passed but the model has 460") != size.npos,
          size);
      pair.check_alike(1);
      const std::string name = passes({{"nobody", std::span(longer).first(7)}});
      CHECK_MESSAGE(name.find(blame(culprit) + "7 entries") != name.npos, name);
      CHECK_MESSAGE(name.find("no part is called 'nobody'") != name.npos, name);
      pair.check_alike(2);
    }
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
    const auto refuses = [&](Replica<float>& replica, const std::string& damaged) {
      try {
        replica.restore(damaged);
        ++accepted;
      } catch (const StateError&) {
      }
    };
    for (std::size_t at = 0; at < state.size(); at += at < 256 ? 5 : 37) {
      std::string damaged = state;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      for (Replica<float>* replica : {&target, &fresh}) {
        refuses(*replica, state.substr(0, at));
        refuses(*replica, damaged);
      }
    }
    refuses(small, state);
    refuses(sums, state);
    CHECK(accepted == 0);
    CHECK(target.saved() == before);
    CHECK(fresh.saved() == empty);
  });
}

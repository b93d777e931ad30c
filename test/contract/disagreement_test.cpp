// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks one of which differs: in what its reducer is made of, what it passes, what it calls.
#include <contract/replica.hpp>
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::contract;

namespace {

/// Ways in which a rank may differ from the others.
enum Difference : unsigned {
  in_length = 1,
  in_parts = 2,
  in_type = 4,
  in_system = 8,
  in_seed = 16,
  in_reduction = 32,
  in_checking = 64
};
constexpr unsigned differences = 7;

/// One drawn case: exactly one rank differs, in one way or in two.
struct Case {
  const System* usual;
  const System* other;
  int culprit;
  unsigned how;
};
Case drawn_case(std::uint64_t number, int ranks) {
  std::uint64_t at = 0;
  const auto draw = [&](std::size_t below) {
    return static_cast<std::size_t>(kernel::mix(number, ++at) % below);
  };
  const auto system = [&] {
    const System* drawn = nullptr;
    do drawn = &systems()[draw(systems().size())];
    while (ranks % drawn->promises.node != 0);
    return drawn;
  };
  Case one{system(), nullptr, static_cast<int>(draw(static_cast<std::size_t>(ranks))), 0};
  do one.other = system();
  while (one.other == one.usual);
  one.how = 1u << draw(differences) | 1u << draw(differences);
  return one;
}

/// As long as `matrices`, and cut into other parameters.
const Shape rearranged{{{240, 12}, {7, 0}, {210, 6}, {3, 1}}};

/// The refusal of this rank's call, as text; its gradient stays as it was.
template <GradientValue T>
std::string mismatch(Team& backend, const Case& one, std::string& field, int& rank) {
  const bool mine = backend.communicator().rank() == one.culprit;
  const unsigned how = mine ? one.how : 0;
  ReduceOptions options;
  if ((how & in_seed) != 0) options.seed = 7;
  if ((how & in_reduction) != 0) options.reduction = Reduction::sum;
  options.checked = (how & in_checking) != 0;
  const Shape& shape = (how & in_length) != 0  ? words
                       : (how & in_parts) != 0 ? rearranged
                                               : matrices;
  const System& system = (how & in_system) != 0 ? *one.other : *one.usual;
  Replica<T> replica(backend, system, shape, options);
  const auto gradient = replica.gradient_of(replica.rank(), 0);
  replica.set(gradient);
  const std::string text = refusal<RankMismatch>(backend, [&] {
    try {
      replica.reducer().start(shape.named(replica.span()), {}).wait();
    } catch (const RankMismatch& error) {
      field = error.field();
      rank = error.rank();
      throw;
    }
  });
  CHECK(same_bits(replica.get(), gradient));
  CHECK(replica.reducer().step() == 0);
  return text;
}

/// May ranks that differ so be told that they differ in `field`?
bool explains(unsigned how, std::string_view field) {
  const auto is = [&](unsigned difference) { return (how & difference) != 0; };
  if (field == "size") return is(in_length);
  if (field == "parts" || field == "shapes") return is(in_length) || is(in_parts);
  if (field == "value type") return is(in_type);
  if (field == "policy" || field == "mask representation" || field == "codec" ||
      field == "feedback") {
    return is(in_system);
  }
  if (field == "options") return is(in_seed) || is(in_reduction);
  return field == "checking" && is(in_checking);
}

}  // namespace

TEST_CASE(
    "a thousand drawn cases of a rank that differs: the same refusal, which names it and how") {
  for (const int ranks : team_sizes()) {
    if (ranks == 1 || ranks > 3) continue;
    on_team(ranks, [&](Team& backend) {
      for (std::uint64_t number = 0; number < 510; ++number) {
        const Case one = drawn_case(number, ranks);
        CAPTURE(number);
        CAPTURE(one.how);
        CAPTURE(one.usual->name);
        CAPTURE(one.other->name);
        const bool mine = backend.communicator().rank() == one.culprit;
        std::string field;
        int rank = -1;
        const std::string text = mine && (one.how & in_type) != 0
                                     ? mismatch<double>(backend, one, field, rank)
                                     : mismatch<float>(backend, one, field, rank);
        CHECK(rank == (ranks == 2 ? 1 : one.culprit));
        CHECK_MESSAGE(explains(one.how, field), text);
      }
      // And the communicator is as good as it was.
      Replica<float> replica(backend, systems().front(), matrices);
      CHECK(same_on_all(backend, replica.step(0)));
    });
  }
}

TEST_CASE("a rank that is a step ahead") {
  for_all([](Team& backend, const System& system) {
    const int ranks = backend.communicator().size(), rank = backend.communicator().rank();
    for (int culprit = 0; ranks > 1 && culprit < ranks; ++culprit) {
      Replica<float> ahead(backend, system, matrices), late(backend, system, matrices);
      ahead.step(0);
      const std::string one = ahead.saved();
      ahead.step(1);
      late.restore(rank == culprit ? ahead.saved() : one);
      const std::string text = refusal<RankMismatch>(backend, [&] { late.step(1); });
      CHECK_MESSAGE(text.find("ranks differ in step: rank " +
                              std::to_string(ranks == 2 ? 1 : culprit)) != text.npos,
                    text);
    }
  });
}

TEST_CASE("where calls are checked: a rank that calls another reducer, or other parts") {
  for_all([](Team& backend, const System& system) {
    const int ranks = backend.communicator().size(), rank = backend.communicator().rank();
    for (int culprit = 0; ranks > 1 && culprit < ranks; ++culprit) {
      const bool mine = rank == culprit;
      const ReduceOptions checked{.checked = true};
      Replica<float> first(backend, system, matrices, checked),
          second(backend, system, matrices, checked);
      Replica<float> plain(backend, system, matrices);
      for (Step step = 0; step < 2; ++step) {
        CHECK(same_bits(first.step(step), plain.step(step)));
        second.step(step);
      }
      const auto refused = [&](Replica<float>& replica, std::size_t parts) {
        const auto gradient = replica.gradient_of(rank, 2);
        replica.set(gradient);
        auto slices = replica.shape().named(replica.span());
        if (parts != 0) slices = {slices[parts]};
        const std::string text =
            refusal<RankMismatch>(backend, [&] { replica.reducer().start(slices, {}).wait(); });
        CHECK(same_bits(replica.get(), gradient));
        CHECK(text.find("rank " + std::to_string(ranks == 2 ? 1 : culprit)) != text.npos);
        return text;
      };
      const std::string order = refused(mine ? second : first, 0);
      CHECK_MESSAGE(order.find("ranks differ in reducer") != order.npos, order);
      if (first.reducer().takes_parts()) {
        const std::string parts = refused(first, mine ? 3 : 1);
        CHECK_MESSAGE(parts.find("ranks differ in the parameters of the call") != parts.npos,
                      parts);
      }
      for (Step step = 2; step < 4; ++step) {
        const auto expected = plain.step(step);
        CHECK(same_bits(first.step(step), expected));
        CHECK(same_bits(second.step(step), expected));
      }
    }
  });
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States that belong elsewhere: refused, by name, and the reducer goes on as it was.
#include <pipeline/support.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/one_shot_magnitude.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/top_k.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::contains;
using reducer::residual_in;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;

/// What `reducer` says to `state`; it must be as it was.
template <class R>
std::string said(R& reducer, const std::string& state) {
  const std::string before = saved(reducer);
  std::string text = "nothing";
  try {
    restore(reducer, state);
  } catch (const StateError& error) {
    text = error.what();
  }
  CHECK(saved(reducer) == before);
  return text;
}

}  // namespace

TEST_CASE("a state of a reducer that is made otherwise says in what") {
  with_ranks(2, [](HostBackend& backend, int) {
    const auto kept = [](std::vector<int> flags) { return Pruned::from_flags(flags); };
    OnThreads<Pruned, BitMask> source{backend, kept({1, 0, 1})};
    Vector gradient(3, 1.0f);
    source(gradient);
    const std::string state = saved(source);

    OnThreads<Pruned, BitMask> mask{backend, kept({1, 1, 0})};
    OnThreads<TopK, BitMask> policy{backend, {.k = 2}};
    OnThreads<Pruned, IndexMask> representation{backend, kept({1, 0, 1})};
    OnThreads<Pruned, BitMask, Int8> codec{backend, kept({1, 0, 1})};
    OnThreads<Pruned, BitMask, Identity, ErrorFeedback> feedback{backend, kept({1, 0, 1})};
    OnThreads<Pruned, BitMask> options{
        backend, kept({1, 0, 1}), {}, {}, {.reduction = Reduction::sum}};
    CHECK(contains(said(mask, state), "another policy"));
    CHECK(contains(said(policy, state), "another policy"));
    CHECK(contains(said(representation, state), "another mask representation"));
    CHECK(contains(said(codec, state), "another codec"));
    CHECK(contains(said(feedback, state), "another feedback"));
    CHECK(contains(said(options, state), "another options"));
    CHECK(contains(said(source, "no state at all, but long enough to be one"), "another format"));
    CHECK(contains(said(source, ""), "ends early"));
    CHECK(said(source, state) == "nothing");

    Vector longer(5, 1.0f);
    OnThreads<TopK, BitMask> five{backend, {.k = 2}}, three{backend, {.k = 2}};
    five(longer);
    gradient.assign(3, 1.0f);
    three(gradient);
    CHECK(contains(said(five, saved(three)), "another model"));
  });
}

TEST_CASE("a state of another number of ranks is refused") {
  std::string state;
  with_ranks(1, [&](HostBackend& backend, int) {
    OnThreads<TopK, BitMask> reduce{backend, {.k = 1}};
    Vector gradient(3, 1.0f);
    reduce(gradient);
    state = saved(reduce);
  });
  with_ranks(2, [&](HostBackend& backend, int) {
    OnThreads<TopK, BitMask> reduce{backend, {.k = 1}};
    CHECK(contains(said(reduce, state), "another number of ranks"));
  });
}

TEST_CASE("states of ranks that were of different models, or masks, are not put together") {
  const auto state_of = [&](int rank, const char* name, Vector gradient) {
    std::string state;
    with_ranks(2, [&](HostBackend& backend, int mine) {
      OnThreads<TopK, BitMask, Identity, ErrorFeedback> source{backend, {.k = 1}};
      Vector own = gradient;
      source(std::vector<Slice<float>>{{name, own}});
      if (mine == rank) state = saved(source);
    });
    return state;
  };
  const auto loads = [](std::istringstream one, std::istringstream other) {
    HostBackend alone;
    OnThreads<TopK, BitMask, Identity, ErrorFeedback> target{alone, {.k = 1}};
    const std::string before = saved(target);
    std::vector<std::istream*> states{&one, &other};
    try {
      target.load(states);
      return true;
    } catch (const StateError&) {
      CHECK(saved(target) == before);
      return false;
    }
  };
  const auto stream = [](const std::string& state) { return std::istringstream(state); };
  const std::string first = state_of(0, "a", {1, 2, 3});
  CHECK(loads(stream(first), stream(state_of(1, "a", {1, 2, 3}))));
  CHECK(!loads(stream(first), stream(state_of(1, "b", {1, 2, 3}))));
  CHECK(!loads(stream(first), stream(state_of(1, "a", {3, 2, 1}))));
}

TEST_CASE("a stream that fails is told of") {
  with_ranks(1, [](HostBackend& backend, int) {
    OnThreads<TopK, BitMask> reduce{backend, {.k = 1}};
    std::ostringstream out;
    out.setstate(std::ios::badbit);
    CHECK_THROWS_AS(reduce.save(out), StateError);
  });
}

TEST_CASE("no state is loaded while a call is under way") {
  with_ranks(2, [](HostBackend& backend, int) {
    OnThreads<TopK, BitMask> reduce{backend, {.k = 3}};
    Vector gradient(3, 1.0f);
    reduce(gradient);
    const std::string state = saved(reduce);
    Pending pending = reduce.start(gradient);
    CHECK_THROWS_AS(restore(reduce, state), PreconditionError);
    CHECK_THROWS_AS(static_cast<void>(saved(reduce)), PreconditionError);
    CHECK(pending.report().kept == 3);
    restore(reduce, state);
    CHECK(reduce.step() == 1);
  });
}

TEST_CASE("the residual of what is newly pruned goes, that of what is kept stays") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    const Vector weights{1, 2, 3, 4};
    OnThreads<GradualMagnitude, BitMask, Ternary, ErrorFeedback> reduce{
        backend, {.weights = Values(weights), .final_sparsity = 0.5, .begin = 1, .end = 1}};
    Vector gradient;
    const auto step = [&] {
      gradient = {0.25f, 0.5f, 0.75f, static_cast<float>(1 + rank)};
      reduce(gradient);
      return residual_in<float>(saved(reduce), 4);
    };
    const Vector dense = step(), pruned = step();
    CHECK(dense[0] != 0);
    CHECK(dense[1] != 0);
    CHECK(pruned[0] == 0);
    CHECK(pruned[1] == 0);
    CHECK(pruned[2] != 0);
    CHECK(gradient[0] == 0);
    CHECK(gradient[1] == 0);
  });
}

TEST_CASE("a refused step that would have pruned leaves the residual whole") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    const Vector weights{1, 2, 3, 4};
    OnThreads<GradualMagnitude, BitMask, Ternary, ErrorFeedback> reduce{
        backend, {.weights = Values(weights), .final_sparsity = 0.5, .begin = 1, .end = 1}};
    Vector gradient{0.25f, 0.5f, 0.75f, 1.0f};
    reduce(gradient);
    const Vector before = residual_in<float>(saved(reduce), 4);
    gradient.assign(4, rank == 1 ? infinity : 1.0f);
    CHECK_THROWS_AS(reduce(gradient), StepRejected);
    CHECK(residual_in<float>(saved(reduce), 4) == before);
    CHECK(reduce.mask().count() == 4);
    gradient.assign(4, 1.0f);
    CHECK(reduce(gradient).kept == 2);
    CHECK(reduce.mask().count() == 2);
  });
}

TEST_CASE("what is saved after a refused revision goes on as what was not saved") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    Vector weights{1, 2, 3, 4, 5, 6, 7, 8};
    const GradualMagnitude policy{.weights = Values(weights),
                                  .initial_sparsity = 0.25,
                                  .final_sparsity = 0.5,
                                  .begin = 0,
                                  .end = 2,
                                  .every = 1};
    using Reducer = OnThreads<GradualMagnitude, BitMask>;
    Reducer reduce{backend, policy}, loaded{backend, policy};
    Vector gradient(8, 1.0f), other(8, 1.0f);
    reduce(gradient);
    const std::string before = saved(reduce);
    gradient.assign(8, rank == 1 ? infinity : 1.0f);
    CHECK_THROWS_AS(reduce(gradient), StepRejected);
    CHECK(saved(reduce) == before);
    restore(loaded, saved(reduce));
    std::ranges::reverse(weights);
    gradient.assign(8, 1.0f);
    reduce(gradient);
    loaded(other);
    CHECK(gradient == other);
    CHECK(saved(reduce) == saved(loaded));
  });
}

TEST_CASE("a model of the same sizes under other names is another model") {
  with_ranks(1, [](HostBackend& backend, int) {
    Vector a(3, 1.0f), b(3, 2.0f);
    const std::vector<Slice<float>> model{{"a", a}, {"b", b}}, swapped{{"b", b}, {"a", a}};
    OnThreads<TopK, BitMask> one{backend, {.k = 1}}, other{backend, {.k = 1}};
    one(model);
    other(swapped);
    CHECK(contains(said(other, saved(one)), "another model"));
  });
}

TEST_CASE("a first step that was refused leaves nothing behind") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    const Vector weights{1, 2, 3, 4};
    using Reducer = OnThreads<OneShotMagnitude, BitMask, Ternary, ErrorFeedback>;
    const OneShotMagnitude policy{.weights = Values(weights), .sparsity = 0.5};
    Reducer reduce{backend, policy}, loaded{backend, policy};
    Vector wrong(static_cast<std::size_t>(rank == 0 ? 4 : 3), 1.0f);
    CHECK_THROWS_AS(reduce(wrong), PreconditionError);
    restore(loaded, saved(reduce));
    CHECK(loaded.step() == 0);

    OnThreads<TopK, BitMask> learns_its_size{backend, {.k = 1}};
    Vector first(5, rank == 1 ? infinity : 1.0f), second(7, 1.0f);
    CHECK_THROWS_AS(learns_its_size(first), StepRejected);
    CHECK(learns_its_size(second).entries == 7);
  });
}

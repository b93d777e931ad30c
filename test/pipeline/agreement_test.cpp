// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exactly one rank differs, each in turn: the same error on all, naming it and the field.
#include <pipeline/support.hpp>

#include <pactrain/broadcast.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/policy/non_zero.hpp>
#include <pactrain/policy/one_shot_magnitude.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/random_pruning.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/united.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::check_mismatch;
using reducer::contains;
using reducer::refusal;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;

/// `body(backend, culprit, is it this rank?)` for every culprit of 2, 3 and 4 ranks.
template <class Body>
void each_in_turn(Body body) {
  for (const int ranks : {2, 3, 4}) {
    for (int culprit = 0; culprit < ranks; ++culprit) {
      with_ranks(ranks, [&](HostBackend& backend, int rank) {
        CAPTURE(culprit);
        body(backend, culprit, rank == culprit);
      });
    }
  }
}

}  // namespace

TEST_CASE("a size that differs is named with both numbers, and the next call is free") {
  each_in_turn([](HostBackend& backend, int culprit, bool mine) {
    OnThreads<KeepAll, BitMask> reduce{backend};
    Vector gradient(mine ? 9 : 10, 2.0f);
    const Vector before = gradient;
    check_mismatch(backend, culprit, "size", [&] { reduce(gradient); });
    const std::string text = refusal<RankMismatch>(backend, [&] { reduce(gradient); });
    CHECK_MESSAGE((contains(text, "has 9") && contains(text, "has 10")), text);
    CHECK(gradient == before);
    Vector agreed(4, 3.0f);
    CHECK(reduce(agreed).step == 0);
    CHECK(agreed == Vector(4, 3.0f));
  });
}

TEST_CASE("parts of another layout are no match, even of the same size") {
  each_in_turn([](HostBackend& backend, int culprit, bool mine) {
    OnThreads<KeepAll, BitMask> reduce{backend};
    Vector x(5), y(5), z(6), w(4);
    std::vector<Slice<float>> slices{{"x", x}, {"y", y}};
    if (mine) slices = {{"x", z}, {"y", w}};
    check_mismatch(backend, culprit, "parts", [&] { reduce(slices); });
  });
}

TEST_CASE("value types must agree") {
  each_in_turn([](HostBackend& backend, int culprit, bool mine) {
    OnThreads<KeepAll, BitMask> reduce{backend};
    Vector floats(5);
    std::vector<double> doubles(5, 1.0);
    check_mismatch(backend, culprit, "value type", [&] {
      if (mine) reduce(doubles);
      else reduce(floats);
    });
    reduce(doubles);  // nothing was fixed by the call that failed
    CHECK(doubles == std::vector<double>(5, 1.0));
  });
}

TEST_CASE("options of policies and codecs must agree") {
  each_in_turn([](HostBackend& backend, int culprit, bool mine) {
    const Vector weights{1, 2, 3, 4, 5, 6, 7, 8};
    Vector gradient(8, 1.0f);
    OnThreads<OneShotMagnitude, BitMask> one_shot{
        backend, {.weights = Values(weights), .sparsity = mine ? 0.25 : 0.5}};
    check_mismatch(backend, culprit, "policy", [&] { one_shot(gradient); });
    const std::string text = refusal<RankMismatch>(backend, [&] { one_shot(gradient); });
    CHECK_MESSAGE(contains(text, "their masks differ from position 2"), text);
    OnThreads<RandomPruning, IndexMask> random{backend, {.sparsity = 0.5, .seed = mine ? 1u : 2u}};
    check_mismatch(backend, culprit, "policy", [&] { random(gradient); });
    OnThreads<TopK, BitMask> top_k{backend, {.k = mine ? 2 : 1}};
    check_mismatch(backend, culprit, "policy", [&] { top_k(gradient); });
    OnThreads<KeepAll, BitMask, Int8> int8{backend, {}, {.block = mine ? 64u : 32u}};
    check_mismatch(backend, culprit, "codec", [&] { int8(gradient); });
    OnThreads<KeepAll, BitMask, Ternary> ternary{backend, {}, {.clip = mine ? 2.5 : 0.0}};
    check_mismatch(backend, culprit, "codec", [&] { ternary(gradient); });
    CHECK(gradient == Vector(8, 1.0f));
  });
}

TEST_CASE("weights that differ give masks that differ, and the place is named") {
  each_in_turn([](HostBackend& backend, int culprit, bool mine) {
    Vector weights(300, 1.0f);
    for (std::size_t i = 0; i < 150; ++i) weights[2 * i] = 2.0f;
    if (mine) weights[131] = 3.0f;
    const std::vector<Slice<const float>> parts{
        {"a", std::span<const float>(weights).first(100)},
        {"b", std::span<const float>(weights).subspan(100)}};
    OnThreads<OneShotMagnitude, BitMask> reduce{backend,
                                                {.weights = Values(parts), .sparsity = 0.5}};
    Vector gradient(300, 1.0f);
    check_mismatch(backend, culprit, "mask", [&] { reduce(gradient); });
    const std::string text = refusal<RankMismatch>(backend, [&] { reduce(gradient); });
    CHECK_MESSAGE(contains(text, "position 131 (entry 31 of 'b')"), text);
    CHECK(gradient == Vector(300, 1.0f));
  });
}

TEST_CASE("a rank that loaded another step is named") {
  each_in_turn([](HostBackend& backend, int culprit, bool mine) {
    OnThreads<KeepAll, BitMask> source{backend}, reduce{backend};
    Vector gradient(5, 1.0f);
    source(gradient);
    const std::string one = saved(source);
    source(gradient);
    restore(reduce, mine ? saved(source) : one);
    check_mismatch(backend, culprit, "step", [&] { reduce(gradient); });
    const std::string text = refusal<RankMismatch>(backend, [&] { reduce(gradient); });
    CHECK_MESSAGE((contains(text, "has 1") && contains(text, "has 2")), text);
  });
}

TEST_CASE("T4: equal numbers of other entries are an error that names rank 1 and position 0") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    const std::vector<std::size_t> kept =
        rank == 0 ? std::vector<std::size_t>{0, 2} : std::vector<std::size_t>{1, 2};
    OnThreads<Pruned, BitMask> reduce{backend, Pruned::from_indices(6, kept)};
    Vector gradient = rank == 0 ? Vector{1, 0, 3, 0, 0, 0} : Vector{0, 10, 30, 0, 0, 0};
    const Vector before = gradient;
    const std::string text = refusal<RankMismatch>(backend, [&] { reduce(gradient); });
    CHECK_MESSAGE(contains(text, "rank 1 is not as rank 0"), text);
    CHECK_MESSAGE(contains(text, "position 0 (entry 0 of"), text);
    CHECK(gradient == before);
    CHECK(reduce.step() == 0);
  });
}

TEST_CASE("T4: united, they are summed") {
  const auto check = [](auto make) {
    with_ranks(2, [&](HostBackend& backend, int rank) {
      auto reduce = make(backend);
      Vector gradient = rank == 0 ? Vector{1, 0, 3, 0, 0, 0} : Vector{0, 10, 30, 0, 0, 0};
      const Report report = (*reduce)(gradient);
      CHECK(gradient == Vector{1, 10, 33, 0, 0, 0});
      CHECK(report.kept == 3);
      CHECK(report.payload_bytes == 3 * sizeof(float));
    });
  };
  const ReduceOptions sum{.reduction = Reduction::sum};
  check([&](HostBackend& backend) {
    return std::make_unique<OnThreads<United<NonZero>, BitMask>>(backend, NonZero{}, Identity{},
                                                                 NoFeedback{}, sum);
  });
  check([&](HostBackend& backend) {
    return std::make_unique<OnThreads<United<TopK>, IndexMask>>(backend, TopK{.k = 2}, Identity{},
                                                                NoFeedback{}, sum);
  });
}

TEST_CASE("broadcast gives all ranks the root's values, or moves none") {
  each_in_turn([](HostBackend& backend, int culprit, bool mine) {
    Vector x(5, mine ? 7.0f : 1.0f), y(mine ? 3 : 2);
    std::vector<Slice<float>> slices{{"x", x}};
    broadcast(backend, slices, culprit);
    CHECK(x == Vector(5, 7.0f));
    slices.push_back({"y", y});
    check_mismatch(backend, culprit, "size", [&] { broadcast(backend, slices, 0); });
    CHECK(x == Vector(5, 7.0f));
    check_mismatch(backend, culprit, "root", [&] { broadcast(backend, x, mine ? 1 : 0); });
    const std::string text =
        refusal<PreconditionError>(backend, [&] { broadcast(backend, x, mine ? -1 : 0); });
    CHECK_MESSAGE(contains(text, "is -1, which is no rank"), text);
  });
}

TEST_CASE("a first call with other parameters, or with other names, is no match") {
  each_in_turn([](HostBackend& backend, int culprit, bool mine) {
    Vector a(4, 1.0f), b(4, 100.0f);
    const std::vector<Slice<float>> model{{"a", a}, {"b", b}}, swapped{{"b", b}, {"a", a}};
    const std::vector<Slice<float>> only_a{{"a", a}}, only_b{{"b", b}};
    DenseAllReduce<HostBackend> parts{backend}, names{backend};
    parts.introduce(model);
    check_mismatch(backend, culprit, "the parameters of the call",
                   [&] { parts(mine ? only_b : only_a); });
    check_mismatch(backend, culprit, "parts", [&] { names(mine ? swapped : model); });
    CHECK(a == Vector(4, 1.0f));
    CHECK(b == Vector(4, 100.0f));
    CHECK(parts.step() == 0);
  });
}

TEST_CASE("a model that was introduced stands when the first call is refused, or told anew") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    Vector a(4, 1.0f), b(3, 100.0f), bad(3, rank == 1 ? infinity : 1.0f);
    const std::vector<Slice<float>> model{{"a", a}, {"b", b}}, only_a{{"a", a}}, only_b{{"b", b}};
    DenseAllReduce<HostBackend> reduce{backend};
    reduce.introduce(only_b);
    reduce.introduce(model);
    const std::string before = saved(reduce);
    CHECK_THROWS_AS(reduce(std::vector<Slice<float>>{{"b", bad}}), StepRejected);
    reduce.start(only_b).cancel();
    CHECK(saved(reduce) == before);
    reduce(only_b);
    CHECK(reduce.step() == 0);
    reduce(only_a);
    CHECK(reduce.step() == 1);
  });
}

TEST_CASE("where calls are checked, another reducer is named while calls are under way") {
  each_in_turn([](HostBackend& backend, int culprit, bool mine) {
    const ReduceOptions checked{.checked = true};
    using Reducer = DenseAllReduce<HostBackend, Ternary>;  // agrees on bounds before values move
    Reducer first{backend, {}, {}, {}, checked}, second{backend, {}, {}, {}, checked};
    Vector a(5, 1.0f), b(7, 1.0f);
    const std::vector<Slice<float>> all{{"a", a}, {"b", b}}, one{{"a", a}}, other{{"b", b}};
    first(all);
    second(all);
    Pending under_way = first.start(one);
    check_mismatch(backend, culprit, "reducer",
                   [&] { (mine ? second : first).start(other).wait(); });
    under_way.wait();
    first(other);
    CHECK(first.step() == 2);
    CHECK(second.step() == 1);
  });
}

TEST_CASE("two parameters of one name are refused") {
  with_ranks(2, [](HostBackend& backend, int) {
    Vector a(4, 1.0f), b(4, 1.0f);
    const std::vector<Slice<float>> twice{{"a", a}, {"a", b}};
    DenseAllReduce<HostBackend> reduce{backend};
    const std::string text = refusal<PreconditionError>(backend, [&] { reduce(twice); });
    CHECK_MESSAGE(contains(text, "two parameters are called 'a'"), text);
    using Reducer = OnThreads<OneShotMagnitude, BitMask>;
    CHECK_THROWS_AS(Reducer(backend, {.weights = twice}), PreconditionError);
  });
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CyclicTopK: ScaleCom's numbers, its turns of leadership, its chunks.
#include <pipeline/support.hpp>
#include <suite/plain_executor.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/cyclic_top_k.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::residual_in;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;

/// The gradients of the worked example.
Vector example_of(int rank) { return rank == 0 ? Vector{4, 1, -3, .5f} : Vector{2, -1, -5, .5f}; }

struct Expected {
  Vector mean, residual[2];
};

template <class Mask>
void follows(double beta, const std::vector<Expected>& steps) {
  with_ranks(2, [&](HostBackend& backend, int rank) {
    using Reducer = OnThreads<CyclicTopK, Mask, Identity, ErrorFeedback>;
    Reducer reduce{backend, {.k = 1}, {}, {.gamma = beta}};
    double conveyed = 0;
    for (const Expected& expected : steps) {
      Reducer restarted{backend, {.k = 1}, {}, {.gamma = beta}};
      restore(restarted, saved(reduce));  // the turn goes on where it was
      Vector gradient = example_of(rank), again = example_of(rank);
      const Report report = reduce(gradient);
      CHECK(report.kept == 1);
      CHECK(report.payload_bytes == sizeof(float));
      CHECK(gradient == expected.mean);
      CHECK(residual_in<float>(saved(reduce), 4) == expected.residual[rank]);
      restarted(again);
      CHECK(again == gradient);
      CHECK(saved(restarted) == saved(reduce));
      conveyed += double(gradient[0]);
    }
    // The sum of means is the sum of mean gradients less the mean residual / beta.
    const double left = double(steps.back().residual[0][0] + steps.back().residual[1][0]) / 2;
    CHECK(conveyed == doctest::Approx(3.0 * double(steps.size()) - left / beta));
  });
}

}  // namespace

TEST_CASE("ScaleCom: classic error feedback, two ranks that lead in turn") {
  const std::vector<Expected> steps{{{3, 0, 0, 0}, {{0, 1, -3, .5f}, {0, -1, -5, .5f}}},
                                    {{0, 0, -8, 0}, {{4, 2, 0, 1}, {2, -2, 0, 1}}},
                                    {{6, 0, 0, 0}, {{0, 3, -3, 1.5f}, {0, -3, -5, 1.5f}}}};
  follows<BitMask>(1.0, steps);
  follows<IndexMask>(1.0, steps);
}

TEST_CASE("ScaleCom: the low-pass filter keeps a share of what was sent") {
  const std::vector<Expected> steps{
      {{3, 0, 0, 0}, {{0, .5f, -1.5f, .25f}, {0, -.5f, -2.5f, .25f}}},
      {{0, 0, -6, 0}, {{2, 1, -.75f, .5f}, {1, -1, -1.25f, .5f}}},
      {{4.5f, 0, 0, 0}, {{1, 1.5f, -2.25f, .75f}, {.5f, -1.5f, -3.75f, .75f}}}};
  follows<BitMask>(0.5, steps);
  follows<IndexMask>(0.5, steps);
}

TEST_CASE("the leader's entries are those of all, and they are as many for any number of ranks") {
  for (const int ranks : {1, 2, 3, 4}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      OnThreads<CyclicTopK, IndexMask> reduce{backend, {.k = 5}};
      HostExecutor exec;
      for (Step step = 0; step < 6; ++step) {
        Vector gradient = values_of<float>(rank + 10 * static_cast<int>(step), 200);
        const Report report = reduce(gradient);
        const int leader = static_cast<int>(step) % ranks;
        Flags expected(200);
        keep_by_sort(values_of<float>(leader + 10 * static_cast<int>(step), 200), 0, 200, 5,
                     expected);
        for (std::size_t i = 0; i < 200; ++i) {
          float sum = 0;
          for (int r = 0; r < ranks; ++r) {
            sum += value_of<float>(r + 10 * static_cast<int>(step), i);
          }
          CHECK(gradient[i] == (expected[i] != 0 ? sum / static_cast<float>(ranks) : 0.0f));
        }
        CHECK(report.kept == 5);  // a union of ranks' own choices would grow with them
        CHECK(report.payload_bytes == (ranks == 1 ? 0 : 5 * sizeof(float)));
      }
    });
  }
}

TEST_CASE("with equal gradients it is the true top k, and it contracts") {
  with_ranks(3, [](HostBackend& backend, int) {
    OnThreads<CyclicTopK, BitMask> reduce{backend, {.fraction = 0.1}};
    const Vector before = values_of<float>(3, 100);
    Vector gradient = before;
    reduce(gradient);
    Flags expected(100);
    keep_by_sort(before, 0, 100, 10, expected);
    double missed = 0, all = 0;
    for (std::size_t i = 0; i < 100; ++i) {
      CHECK((gradient[i] != 0) == (expected[i] != 0));
      all += double(before[i]) * double(before[i]);
      if (gradient[i] == 0) missed += double(before[i]) * double(before[i]);
    }
    CHECK(missed <= (1 - 0.1) * all);
  });
}

TEST_CASE("a refused step keeps its leader") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    OnThreads<CyclicTopK, IndexMask, Identity, ErrorFeedback> reduce{backend, {.chunk = 2}};
    Vector gradient{1, 2, 3, 4, 5};
    reduce(gradient);
    const std::string before = saved(reduce);
    for (int bad = 0; bad < 3; ++bad) {
      gradient.assign(5, rank == bad ? infinity : 1.0f);
      CHECK_THROWS_AS(reduce(gradient), StepRejected);
      CHECK(saved(reduce) == before);
    }
    // Rank 1 leads step 1: its largest, not those of the others.
    gradient = rank == 1 ? Vector{0, 9, 9, 0, 1} : Vector{9, 0, 0, 9, 1};
    reduce(gradient);
    CHECK(gradient[0] == 0);
    CHECK(gradient[1] != 0);
    CHECK(gradient[2] != 0);
    CHECK(gradient[3] == 0);
    CHECK(gradient[4] != 0);
  });
}

TEST_CASE_TEMPLATE("the largest of each chunk is kept, the first of equal ones", E, HostExecutor,
                   PlainExecutor) {
  E exec;
  for_gradient_types([&]<class T>() {
    for (const std::size_t chunk : {1u, 2u, 7u, 64u, 1000u}) {
      const std::vector<std::size_t> sizes{100, 0, 7, 65, 1, 14};
      const auto values = tied_values<T>(187, chunk);
      const Net<T, E> net(exec, sizes, values);
      Flags expected(187);
      for (const Part& part : net.model.parts()) {
        for (std::size_t at = 0; at < part.size; at += chunk) {
          keep_by_sort(values, part.first + at, std::min(chunk, part.size - at), 1, expected);
        }
      }
      const CyclicTopK options{.chunk = chunk};
      CHECK(decided(exec, options, net.model, net.whole()) == expected);
      CHECK(decided(exec, options, net.model, net.shredded(chunk)) == expected);
      const CyclicTopK exempt{.chunk = chunk, .exempt = {"p3"}};
      for (std::size_t i = 107; i < 172; ++i) expected[i] = 1;
      CHECK(decided(exec, exempt, net.model, net.shredded(1)) == expected);
    }
  });
}

TEST_CASE("one of fraction, k and chunk is given") {
  const auto refusal = [](const CyclicTopK& options) {
    return message_of<PreconditionError>([&] { CyclicTopK::on<HostExecutor> policy(options); });
  };
  const std::string one_of = "CyclicTopK needs one of fraction, k and chunk";
  CHECK(refusal({}).find(one_of) != std::string::npos);
  CHECK(refusal({.fraction = 0.1, .k = 1}).find(one_of) != std::string::npos);
  CHECK(refusal({.k = 1, .chunk = 4}).find(one_of) != std::string::npos);
  CHECK(refusal({.chunk = 0}).find("the chunk is 0") != std::string::npos);
  CHECK(refusal({.k = 0}).find("k is 0") != std::string::npos);
  CHECK(refusal({.fraction = 1.5}).find("the fraction is 1.5") != std::string::npos);
  CHECK(refusal({.chunk = 4}) == "nothing");
}

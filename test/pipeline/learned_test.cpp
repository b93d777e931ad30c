// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PacTrain's mask tracker through a reducer: what it learns, and strays outside of it.
#include <pipeline/support.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/track_zeros.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::contains;
using reducer::refusal;
using reducer::residual_in;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;

Vector pattern(const std::string& bits, float value = 1.0f) {
  Vector values;
  for (const char bit : bits) values.push_back(bit == '1' ? value : 0.0f);
  return values;
}
/// Learned after these, with a patience of 2: only 01001010 are zeros.
const std::vector<std::string> lessons{"10100100", "10010101", "10010101", "10010101"};
const std::string later = "10010101", learned = "10110101";

template <class R>
void teach(R& reduce) {
  for (const std::string& lesson : lessons) {
    Vector gradient = pattern(lesson);
    const Report report = reduce(gradient);
    CHECK(report.kept == 8);
    CHECK(gradient == pattern(lesson));
  }
}

}  // namespace

TEST_CASE("the tracker of the paper, with a patience of 2") {
  for (const int ranks : {1, 2, 4}) {
    with_ranks(ranks, [&](HostBackend& backend, int) {
      OnThreads<TrackZeros, BitMask> reduce{backend, {.patience = 2}};
      teach(reduce);
      Vector gradient = pattern(later);
      const Report report = reduce(gradient);
      CHECK(report.kept == 5);
      CHECK(gradient == pattern(later));
      if (ranks > 1) CHECK(report.payload_bytes == (5 + 1) * sizeof(float));
      Vector state(8, 1.0f);
      reduce.mask().apply(state);
      CHECK(state == pattern(learned));
    });
  }
}

TEST_CASE("a stray on any one rank makes the same call dense on all, and learning begins anew") {
  for (const int ranks : {1, 2, 3, 4}) {
    for (int culprit = 0; culprit < ranks; ++culprit) {
      with_ranks(ranks, [&](HostBackend& backend, int rank) {
        CAPTURE(ranks);
        CAPTURE(culprit);
        OnThreads<TrackZeros, IndexMask> reduce{backend, {.patience = 2}};
        teach(reduce);
        Vector gradient = pattern(later);
        if (rank == culprit) gradient[1] = static_cast<float>(8 * ranks);
        const Report report = reduce(gradient);
        CHECK(report.path == Path::dense);
        CHECK(report.kept == 8);
        Vector expected = pattern(later);
        expected[1] = 8.0f;
        CHECK(gradient == expected);
        if (ranks > 1) CHECK(report.payload_bytes == 8 * sizeof(float));

        for (int step = 0; step < 2; ++step) {  // with the stray's step: three observations
          gradient = pattern("11010101");
          CHECK(reduce(gradient).kept == 8);
        }
        gradient = pattern("11010101");
        CHECK(reduce(gradient).kept == 5);
      });
    }
  }
}

TEST_CASE("a stray that is lost in a codec's noise is conveyed whole, and owed to nobody") {
  const auto check = []<class Codec>() {
    with_ranks(3, [](HostBackend& backend, int rank) {
      OnThreads<TrackZeros, BitMask, Codec, ErrorFeedback> reduce{backend, {.patience = 2}};
      teach(reduce);
      Vector gradient = pattern(later);
      if (rank == 2) gradient[1] = 3e-20f;
      const Report report = reduce(gradient);
      CHECK(report.path == Path::dense);
      CHECK(gradient[1] == 3e-20f / 3);
      CHECK(residual_in<float>(saved(reduce), 8) == Vector(8));
    });
  };
  for_types<Identity, Ternary, Int8>(check);
}

TEST_CASE("a refused step neither teaches nor unteaches") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    OnThreads<TrackZeros, BitMask> reduce{backend, {.patience = 2}};
    teach(reduce);
    Vector gradient = pattern(later);
    reduce(gradient);
    const std::string before = saved(reduce);
    gradient[1] = rank == 1 ? not_a_number : 4.0f;  // a stray on both
    const std::string text = refusal<StepRejected>(backend, [&] { reduce(gradient); });
    CHECK_MESSAGE(contains(text, "rank 1: entry 1 of"), text);
    gradient = Vector(8, 3e38f);  // strays whose dense sum overflows
    refusal<StepRejected>(backend, [&] { reduce(gradient); });
    CHECK(saved(reduce) == before);
    gradient = pattern(later);
    CHECK(reduce(gradient).kept == 5);
  });
}

TEST_CASE("a NaN that propagates hides no stray") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    OnThreads<TrackZeros, BitMask> reduce{
        backend, {.patience = 2}, {}, {}, {.non_finite = NonFinite::propagate}};
    teach(reduce);
    Vector gradient = pattern(later);
    if (rank == 0) gradient[0] = not_a_number;
    if (rank == 1) gradient[1] = 6.0f;
    const Report report = reduce(gradient);
    CHECK(report.non_finite);
    CHECK(report.path == Path::dense);
    CHECK(gradient[0] != gradient[0]);
    gradient[0] = 1.0f;
    CHECK(gradient == Vector{1, 3, 0, 1, 0, 1, 0, 1});
  });
}

TEST_CASE("what was learned is saved and loaded") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    using Reducer = OnThreads<TrackZeros, BitMask>;
    Reducer reduce{backend, {.patience = 2}}, loaded{backend, {.patience = 2}};
    teach(reduce);
    restore(loaded, saved(reduce));
    Vector gradient = pattern(later), other = gradient;
    CHECK(reduce(gradient).kept == 5);
    CHECK(loaded(other).kept == 5);
    gradient = other = pattern(rank == 0 ? "11010101" : later);
    CHECK(reduce(gradient).path == Path::dense);
    CHECK(loaded(other).path == Path::dense);
    CHECK(saved(loaded) == saved(reduce));
  });
}

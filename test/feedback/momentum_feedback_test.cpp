// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MomentumFeedback: Deep Gradient Compression's numbers, through whole reducers.
#include <pipeline/support.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/feedback/momentum_feedback.hpp>
#include <pactrain/gathered.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/policy/sampled_top_k.hpp>
#include <pactrain/policy/top_k.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using doctest::Approx;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;
static_assert(Feedback<MomentumFeedback, HostExecutor>);

template <class P, class M = BitMask, class Z = Identity>
using WithMomentum = OnThreads<P, M, Z, MomentumFeedback>;

/// The residual v that a state ends with, and the momentum u before it.
Vector residual_of(const std::string& state, std::size_t n) {
  return reducer::residual_in<float>(state, n);
}
Vector momentum_of(const std::string& state, std::size_t n) {
  const std::size_t v = n * sizeof(float) + 8;  // an array begins with its size
  return reducer::residual_in<float>(state.substr(0, state.size() - v), n);
}
template <class R>
Vector step_of(R& reduce, Vector gradient) {
  reduce(gradient);
  return gradient;
}
bool near(const Vector& a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > 1e-6f * (1 + std::abs(b[i]))) return false;
  }
  return a.size() == b.size();
}

}  // namespace

TEST_CASE("worked: what is sent loses its momentum, what waits gathers it") {
  with_ranks(1, [](HostBackend& backend, int) {
    WithMomentum<TopK> reduce{backend, {.k = 1}};
    CHECK(near(step_of(reduce, {1, .1f}), {1, 0}));
    CHECK(near(momentum_of(saved(reduce), 2), {0, .1f}));
    CHECK(near(residual_of(saved(reduce), 2), {0, .1f}));
    CHECK(near(step_of(reduce, {.05f, .1f}), {0, .29f}));
    CHECK(near(momentum_of(saved(reduce), 2), {.05f, 0}));
    CHECK(near(residual_of(saved(reduce), 2), {.05f, 0}));

    WithMomentum<TopK> nesterov{backend, {.k = 1}, {}, {.nesterov = true}};
    CHECK(near(step_of(nesterov, {1, .1f}), {1.9f, 0}));  // u = .9, v = u + g
    CHECK(near(momentum_of(saved(nesterov), 2), {0, .09f}));
    CHECK(near(residual_of(saved(nesterov), 2), {0, .19f}));
    CHECK(near(step_of(nesterov, {.05f, .1f}), {0, .461f}));  // u = .9 * .19, v = .19 + u + .1
    CHECK(near(momentum_of(saved(nesterov), 2), {.045f, 0}));
    CHECK(near(residual_of(saved(nesterov), 2), {.095f, 0}));
  });
}

TEST_CASE("worked: the same where each rank's choice travels with its positions") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    WithMomentum<Gathered<TopK>, IndexMask> reduce{backend, {.k = 1}};
    Vector first = rank == 0 ? Vector{1, .1f} : Vector{.2f, 3};
    Vector second = rank == 0 ? Vector{.05f, .1f} : Vector{0, 0};
    CHECK(near(step_of(reduce, first), {.5f, 1.5f}));
    CHECK(near(momentum_of(saved(reduce), 2), rank == 0 ? Vector{0, .1f} : Vector{.2f, 0}));
    CHECK(near(residual_of(saved(reduce), 2), rank == 0 ? Vector{0, .1f} : Vector{.2f, 0}));
    CHECK(near(step_of(reduce, second), {.19f, .145f}));  // rank 1 sends .2 + .9 * .2
    CHECK(near(momentum_of(saved(reduce), 2), rank == 0 ? Vector{.05f, 0} : Vector{0, 0}));
    CHECK(near(residual_of(saved(reduce), 2), rank == 0 ? Vector{.05f, 0} : Vector{0, 0}));
  });
}

TEST_CASE("without momentum it is error feedback, bit for bit") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    WithMomentum<TopK> reduce{backend, {.fraction = .1}, {}, {.momentum = 0}};
    OnThreads<TopK, BitMask, Identity, ErrorFeedback> classic{backend, {.fraction = .1}};
    for (int step = 0; step < 5; ++step) {
      const Vector gradient = values_of<float>(rank + 9 * step, 100);
      CHECK(same_bits(step_of(reduce, gradient), step_of(classic, gradient)));
      CHECK(residual_of(saved(reduce), 100) == residual_of(saved(classic), 100));
    }
  });
}

TEST_CASE("what is kept whole has the momentum of the mean gradient") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    for (const bool nesterov : {false, true}) {
      WithMomentum<TopK> some{
          backend, {.fraction = .1, .exempt = {"bias"}}, {}, {.nesterov = nesterov}};
      WithMomentum<KeepAll> all{backend, {}, {}, {.nesterov = nesterov}};
      std::vector<double> u(8);
      for (int step = 0; step < 6; ++step) {
        Vector weight = values_of<float>(rank + 5 * step, 40), bias(8), alone(8);
        for (std::size_t i = 0; i < 8; ++i) alone[i] = bias[i] = value_of<float>(rank + step, i);
        some(std::vector<Slice<float>>{{"weight", weight}, {"bias", bias}});
        all(alone);
        for (std::size_t i = 0; i < 8; ++i) {
          const double g = double(value_of<float>(step, i) + value_of<float>(1 + step, i)) / 2;
          u[i] = nesterov ? .9 * (u[i] + g) : .9 * u[i] + g;
          CHECK(double(bias[i]) == Approx(nesterov ? u[i] + g : u[i]).epsilon(1e-4));
          CHECK(bias[i] == alone[i]);
        }
      }
    }
  });
}

TEST_CASE("masking goes by what was selected, not by what was missed") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    // A codec leaves something of what it sends: it stays in v, and u is cleared all the same.
    WithMomentum<TopK, BitMask, Int8> coded{backend, {.k = 2}};
    step_of(coded, {3, 1.37f, 0, 0});
    const Vector left = residual_of(saved(coded), 4);
    CHECK(left[1] != 0);
    CHECK(std::abs(left[1]) < .05f);
    CHECK(momentum_of(saved(coded), 4) == Vector(4));

    // And an entry that waits and happens to be zero has missed nothing, and keeps its momentum.
    WithMomentum<TopK, IndexMask> waits{backend, {.k = 1}, {}, {.momentum = .5}};
    step_of(waits, {0, 8, .5f});
    step_of(waits, {0, 8, -.75f});
    CHECK(residual_of(saved(waits), 3) == Vector(3));
    CHECK(momentum_of(saved(waits), 3) == Vector{0, 0, -.5f});

    // What another rank selected was sent from here, too.
    WithMomentum<TopK> united{backend, {.k = 1}, {}, {.momentum = .5}};
    step_of(united, rank == 0 ? Vector{4, 1, 1} : Vector{1, 4, 1});
    CHECK(momentum_of(saved(united), 3) == Vector{0, 0, 1});
    CHECK(residual_of(saved(united), 3) == Vector{0, 0, 1});
  });
}

TEST_CASE("pruned weights have no momentum, those that are left have the ordinary one") {
  with_ranks(2, [](HostBackend& backend, int) {
    const Vector weights{4, 3, 2, 1};
    WithMomentum<GradualMagnitude> reduce{
        backend,
        {.weights = Values(weights), .final_sparsity = .5, .begin = 1, .end = 1},
        {},
        {.momentum = .5}};
    CHECK(step_of(reduce, {1, 1, 1, 1}) == Vector(4, 1.0f));
    CHECK(momentum_of(saved(reduce), 4) == Vector(4, 1.0f));
    CHECK(step_of(reduce, {1, 1, 1, 1}) == Vector{1.5f, 1.5f, 0, 0});
    CHECK(step_of(reduce, {1, 1, 1, 1}) == Vector{1.75f, 1.75f, 0, 0});
    CHECK(momentum_of(saved(reduce), 4) == Vector{1.75f, 1.75f, 0, 0});
    CHECK(residual_of(saved(reduce), 4) == Vector(4));
  });
}

TEST_CASE("the whole method loses nothing: what was sent and waits is the sum of the momenta") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    WithMomentum<SampledTopK, IndexMask> reduce{
        backend,
        {.fraction = .05, .warm_up = {.5}, .warm_up_steps = 2},
        {},
        {},
        {.reduction = Reduction::sum}};
    const std::size_t n = 500;
    std::vector<double> sent(n), added(n), u(n);
    for (int step = 0; step < 8; ++step) {
      const Vector mine = values_of<float>(rank + 3 * step, n);
      const Vector sum = step_of(reduce, mine);
      const Vector now = momentum_of(saved(reduce), n);
      for (std::size_t i = 0; i < n; ++i) {
        sent[i] += double(sum[i]);
        added[i] += u[i] = .9 * u[i] + double(mine[i]);
        if (now[i] == 0) u[i] = 0;  // it was selected
        CHECK(double(now[i]) == Approx(u[i]).epsilon(1e-4));
      }
    }
    const Vector waits = residual_of(saved(reduce), n);
    std::vector<double> owed(n);
    for (std::size_t i = 0; i < n; ++i) owed[i] = added[i] - double(waits[i]);
    all_reduce(backend.executor(), backend.communicator(), std::span<double>(owed), Sum{});
    for (std::size_t i = 0; i < n; ++i) CHECK(sent[i] == Approx(owed[i]).epsilon(1e-3));
  });
}

TEST_CASE("gradients are clipped by parameter, to a share that depends on the ranks") {
  for (const int ranks : {1, 4}) {
    with_ranks(ranks, [&](HostBackend& backend, int) {
      const float limit = ranks == 1 ? 2.0f : 1.0f;  // 2 / sqrt(ranks)
      const auto parts = [](Vector& a, Vector& b) {
        return std::vector<Slice<float>>{{"a", a}, {"b", b}};
      };
      WithMomentum<KeepAll> reduce{backend, {}, {}, {.momentum = 0, .clip = 2}};
      Vector a{3, 0, 4}, b{.6f, -.3f};
      reduce(parts(a, b));
      CHECK(near(a, {limit * .6f, 0, limit * .8f}));
      CHECK(b == Vector{.6f, -.3f});  // short enough
      // The same bits in any cut, and alone.
      Vector whole = values_of<float>(1, 5000), cut = whole;
      WithMomentum<KeepAll> one{backend, {}, {}, {.clip = 2}}, two{backend, {}, {}, {.clip = 2}};
      const std::span<float> all(whole), pieces(cut);
      one(std::vector<Slice<float>>{{"a", all.first(4100)}, {"b", all.subspan(4100)}});
      two.introduce(
          std::vector<Slice<float>>{{"a", pieces.first(4100)}, {"b", pieces.subspan(4100)}});
      two(std::vector<Slice<float>>{
          {"", pieces.first(13)}, {"", pieces.subspan(13, 4500)}, {"", pieces.subspan(4513)}});
      CHECK(same_bits(whole, cut));
      Vector nothing(3, not_a_number), short_one(2, 0.0f);
      reduce(parts(nothing, short_one), Contribution::nothing);
      CHECK(nothing == Vector(3));
    });
  }
}

TEST_CASE("a refused step leaves u and v, and a saved state goes on") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    const auto options = MomentumFeedback{.clip = 50};
    WithMomentum<TopK> reduce{backend, {.fraction = .2}, {}, options};
    WithMomentum<TopK> steady{backend, {.fraction = .2}, {}, options};
    for (int step = 0; step < 4; ++step) {
      const Vector values = values_of<float>(rank + 7 * step, 60);
      Vector gradient = values;
      gradient[3] = rank == 1 ? not_a_number : 1;
      const std::string before = saved(reduce);
      CHECK_THROWS_AS(reduce(gradient), StepRejected);
      CHECK(saved(reduce) == before);
      WithMomentum<TopK> loaded{backend, {.fraction = .2}, {}, options};
      restore(loaded, before);
      const Vector expected = step_of(steady, values);
      CHECK(same_bits(step_of(reduce, values), expected));
      CHECK(same_bits(step_of(loaded, values), expected));
      CHECK(saved(loaded) == saved(steady));
    }
  });
}

TEST_CASE("half gradients keep floats, what is not finite is not taken in") {
  with_ranks(1, [](HostBackend& backend, int) {
    WithMomentum<TopK> reduce{backend, {.k = 1}, {}, {}, {.non_finite = NonFinite::propagate}};
    std::vector<float16> gradient{float16(1.0f), float16(0.1f)};
    reduce(gradient);
    const float tenth(float16(0.1f));
    CHECK(momentum_of(saved(reduce), 2) == Vector{0, tenth});
    gradient = {float16(-infinity), float16(0.1f)};
    reduce(gradient);
    CHECK(momentum_of(saved(reduce), 2)[0] == 0);
    CHECK(residual_of(saved(reduce), 2)[0] == 0);
    CHECK(residual_of(saved(reduce), 2)[1] == Approx(2.9f * tenth));
  });
}

TEST_CASE("options are checked, and told apart") {
  const auto refusal = [](const MomentumFeedback& options) {
    return message_of<PreconditionError>(
        [&] { MomentumFeedback::on<HostExecutor> feedback(options); });
  };
  CHECK(refusal({.momentum = 1}).find("the momentum is 1.000000") != std::string::npos);
  CHECK(refusal({.momentum = -.1}).find("choose one in [0, 1)") != std::string::npos);
  CHECK(refusal({.clip = -1}).find("clip is -1.000000") != std::string::npos);
  CHECK(refusal({}) == "nothing");
  CHECK(MomentumFeedback{}.fingerprint() != MomentumFeedback{.nesterov = true}.fingerprint());
  CHECK(MomentumFeedback{}.fingerprint() != MomentumFeedback{.clip = 1}.fingerprint());
}

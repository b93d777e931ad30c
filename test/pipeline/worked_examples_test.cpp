// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers of papers and of public reports, through whole reducers.
#include <pipeline/support.hpp>

#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/top_k.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::residual_in;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;

bool all_positive_zeros(const Vector& values) { return same_bits(values, Vector(values.size())); }

}  // namespace

TEST_CASE("PacTrain: packing the kept entries of two ranks") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    const Vector weights{.5f, 0, 0, -.2f, 0, .9f, 0, .1f};
    std::vector<bool> flags;
    for (const float w : weights) flags.push_back(w != 0);
    OnThreads<Pruned, BitMask> reduce{backend, Pruned::from_flags(flags)};
    DenseAllReduce<HostBackend> dense{backend};
    Vector gradient = rank == 0 ? Vector{.8f, .3f, -.1f, -.4f, .2f, .05f, .7f, 0}
                                : Vector{.2f, -.6f, .4f, -.8f, .1f, .15f, -.3f, .4f};
    Vector enforced = gradient;
    for (std::size_t i = 0; i < 8; ++i) enforced[i] = flags[i] ? gradient[i] : 0.0f;
    const Report report = reduce(gradient);
    CHECK(report.kept == 4);
    CHECK(report.payload_bytes == 4 * sizeof(float));
    dense(enforced);
    CHECK(same_bits(gradient, enforced));
    const Vector expected{.5f, 0, 0, -.6f, 0, .1f, 0, .2f};
    for (std::size_t i = 0; i < 8; ++i) CHECK(gradient[i] == doctest::Approx(expected[i]));
    CHECK(reduce(gradient).bytes_sent == 4 * sizeof(float));  // no agreement, half of it twice
  });
}

TEST_CASE("T6: zeros stay zeros and are not remembered, with every codec") {
  for_codecs([]<class Codec>() {
    with_ranks(3, [](HostBackend& backend, int) {
      OnThreads<TopK, BitMask, Codec, ErrorFeedback> reduce{backend, {.k = 2}};
      for (Step step = 0; step < 3; ++step) {
        Vector gradient(8);
        const Report report = reduce(gradient);
        CHECK(report.kept <= 2);
        CHECK(all_positive_zeros(gradient));
        CHECK(all_positive_zeros(residual_in<float>(saved(reduce), 8)));
      }
    });
  });
}

TEST_CASE("T6: values of 1e-30 go round within each codec's own bound, or stay in the residual") {
  for_codecs([]<class Codec>() {
    with_ranks(2, [](HostBackend& backend, int) {
      OnThreads<TopK, BitMask, Codec, ErrorFeedback> reduce{backend, {.k = 8}};
      Vector gradient(8, 1e-30f);
      for (Step step = 1; step <= 3; ++step) {
        gradient.assign(8, 1e-30f);
        reduce(gradient);
        const Vector residual = residual_in<float>(saved(reduce), 8);
        for (std::size_t i = 0; i < 8; ++i) {
          if (std::same_as<Codec, Cast<float16>>) {
            CHECK(gradient[i] == 0.0f);
            CHECK(residual[i] == doctest::Approx(double(step) * 1e-30));
          } else {
            CHECK(std::abs(gradient[i] - 1e-30f) <= 1e-30f * 0x1p-7f);
            CHECK(std::abs(residual[i]) <= 1e-30f * 0x1p-7f);
          }
        }
      }
    });
  });
}

TEST_CASE("T8: ties go to the lowest index on every rank") {
  struct Case {
    Vector gradient;
    std::size_t k;
    std::vector<std::size_t> kept;
  };
  const Case cases[] = {
      {{2, -2, 2, 1}, 2, {0, 1}}, {{0.1f, 0.2f, 0.9f, 0.3f}, 1, {2}}, {{5, 4, 5, 1, 2}, 1, {0}}};
  for (const int ranks : {1, 2, 3, 4}) {
    for (const Case& each : cases) {
      with_ranks(ranks, [&](HostBackend& backend, int) {
        OnThreads<TopK, IndexMask> reduce{backend, {.k = each.k}};
        Vector gradient = each.gradient;
        reduce(gradient);
        std::vector<std::size_t> kept;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          if (gradient[i] != 0) kept.push_back(i);
        }
        CHECK(kept == each.kept);
      });
    }
  }
}

TEST_CASE("T10: nothing, one entry, a tiny share, everything") {
  for (const int ranks : {1, 2, 4}) {
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      OnThreads<TopK, BitMask> empty{backend, {.fraction = 0.001}},
          one{backend, {.fraction = 0.001}}, three{backend, {.fraction = 0.001}},
          more{backend, {.k = 100}};
      Vector none, single{4.0f}, some{1.0f, 3.0f, 2.0f}, dense = values_of<float>(rank, 50);
      const Report nothing = empty(none);
      CHECK(nothing.entries == 0);
      CHECK(nothing.payload_bytes == 0);
      one(single);
      CHECK(single == Vector{4.0f});
      CHECK(three(some).kept == 1);
      CHECK(some == Vector{0.0f, 3.0f, 0.0f});
      more(dense);
      CHECK(same_bits(dense, reduced_values<float>(ranks, 50, Mean{})));

      OnThreads<Pruned, BitMask> all{backend, Pruned::from_flags(std::vector<bool>(50, true))},
          no{backend, Pruned::from_flags(std::vector<bool>(50, false))};
      dense = values_of<float>(rank, 50);
      all(dense);
      CHECK(same_bits(dense, reduced_values<float>(ranks, 50, Mean{})));
      const Report dropped = no(dense);
      CHECK(dropped.payload_bytes == 0);
      CHECK(dropped.kept == 0);
      CHECK(all_positive_zeros(dense));
    });
  }
}

TEST_CASE("T13: what is masked is +0.0, bit for bit, with every codec") {
  for_codecs([]<class Codec>() {
    for (const int ranks : {1, 2}) {
      with_ranks(ranks, [](HostBackend& backend, int) {
        OnThreads<Pruned, BitMask, Codec, ErrorFeedback> reduce{
            backend, Pruned::from_flags(std::vector{1, 0, 0, 1})};
        for (const Vector& given : {Vector{3, 0, 0, -1}, Vector{3, -0.0f, -5, -1}}) {
          Vector gradient = given;
          reduce(gradient);
          CHECK(std::bit_cast<std::uint32_t>(gradient[1]) == 0);
          CHECK(std::bit_cast<std::uint32_t>(gradient[2]) == 0);
          const Vector residual = residual_in<float>(saved(reduce), 4);
          CHECK(all_positive_zeros({residual[1], residual[2]}));
        }
      });
    }
  });
}

TEST_CASE("T15: top-1 of [3, 2, 1] with a residual, and a state that is loaded after two steps") {
  with_ranks(1, [](HostBackend& backend, int) {
    using Reducer = OnThreads<TopK, BitMask, Identity, ErrorFeedback>;
    Reducer reduce{backend, {.k = 1}}, loaded{backend, {.k = 1}};
    const Vector sent[] = {{3, 0, 0}, {0, 4, 0}, {6, 0, 0}, {0, 4, 0}};
    Vector sum(3);
    for (std::size_t step = 0; step < 4; ++step) {
      Vector gradient{3, 2, 1}, other = gradient;
      reduce(gradient);
      CHECK(gradient == sent[step]);
      for (std::size_t i = 0; i < 3; ++i) sum[i] += gradient[i];
      if (step == 1) restore(loaded, saved(reduce));
      if (step < 2) continue;
      loaded(other);
      CHECK(same_bits(other, gradient));
    }
    const Vector residual = residual_in<float>(saved(reduce), 3);
    CHECK(residual == Vector{3, 0, 4});
    for (std::size_t i = 0; i < 3; ++i) sum[i] += residual[i];
    CHECK(sum == Vector{12, 8, 4});
    CHECK(saved(loaded) == saved(reduce));
  });
}

TEST_CASE("a million entries, once") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 1000000;
    std::vector<bool> flags(n);
    for (std::size_t i = 0; i < n; ++i) flags[i] = kernel::mix(i, 1) % 10 == 0;
    OnThreads<Pruned, BitMask> reduce{backend, Pruned::from_flags(flags)};
    Vector gradient = values_of<float>(rank, n);
    const Report report = reduce(gradient);
    Vector expected = reduced_values<float>(2, n, Mean{});
    for (std::size_t i = 0; i < n; ++i) expected[i] = flags[i] ? expected[i] : 0.0f;
    CHECK(same_bits(gradient, expected));
    CHECK(report.payload_bytes == report.kept * sizeof(float));
  });
}

TEST_CASE("what is pruned stays exactly zero through SGD and Adam with weight decay") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 100;
    const auto check = [&](bool adam) {
      std::vector<float> weights = values_of<float>(7, n), gradient(n), first(n), second(n);
      std::vector<int> flags(n);
      for (std::size_t i = 0; i < n; ++i) flags[i] = i % 3 == 0 ? 1 : 0;
      OnThreads<Pruned, BitMask> reduce{backend, Pruned::from_flags(flags)};
      for (int step = 1; step <= 300; ++step) {
        gradient = values_of<float>(rank + 2 * step, n);
        reduce(gradient);
        for (std::size_t i = 0; i < n; ++i) {
          first[i] = 0.9f * first[i] + 0.1f * gradient[i];
          second[i] = 0.99f * second[i] + 0.01f * gradient[i] * gradient[i];
          const float way = adam ? first[i] / (std::sqrt(second[i]) + 1e-8f) : first[i];
          weights[i] -= 0.01f * (way + 0.1f * weights[i]);
        }
        for (auto* state : {&weights, &first, &second}) reduce.mask().apply(*state);
      }
      for (std::size_t i = 0; i < n; ++i) {
        CHECK((weights[i] == 0.0f) == (flags[i] == 0));
        if (flags[i] == 0) CHECK((first[i] == 0.0f && second[i] == 0.0f));
      }
    };
    check(false);
    check(true);
  });
}

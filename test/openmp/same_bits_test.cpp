// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// T8: the same set and the same bits for 1 to 16 threads, on vectors that are long enough for all.
#include <suite/own_exchange.hpp>
#include <suite/policies_made.hpp>
#include <suite/sparse_all_reduce_law.hpp>
#include <suite/values.hpp>

#include <pactrain/balanced.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/gathered.hpp>
#include <pactrain/hashed.hpp>
#include <pactrain/host/backend.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/bloom_mask.hpp>
#include <pactrain/openmp/backend.hpp>
#include <pactrain/sparse_streams.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::reducer;

namespace {

/// Two steps of a model whose parts begin inside words; the gradient, and all that is saved.
template <class C, Backend B>
std::pair<std::vector<float>, std::string> result_of(B& backend) {
  constexpr std::size_t n = 16 * 16384 + 1001;  // so many that 16 threads each get some
  Replica<C, B> replica(backend, n, 0.3);
  replica.clean_step(0);
  auto gradient = replica.clean_step(1);
  return {std::move(gradient), saved(replica.reduce)};
}

template <class C>
void check_threads() {
  HostBackend host;
  const auto expected = result_of<C>(host);
  for (const int threads : {1, 2, 3, 5, 8, 16}) {
    CAPTURE(threads);
    OpenMpBackend backend{ThreadCommunicator{}, OpenMpExecutor{threads}};
    const auto found = result_of<C>(backend);
    CHECK(same_bits(found.first, expected.first));
    CHECK(found.second == expected.second);
  }
}

/// Three steps of three ranks, whose own choices find each other by the way `W`.
template <class W, class M>
void check_way(const typename OverAll<W>::choice& choice) {
  constexpr std::size_t n = 20001;
  const auto steps = [&](auto& backend) {
    using B = std::remove_reference_t<decltype(backend)>;
    SparseAllReduce<W, M, B, Identity, ErrorFeedback> reduce{backend, choice};
    std::vector<float> x;
    for (int step = 0; step < 3; ++step) {
      x = values_of<float>(backend.communicator().rank() + 10 * step, n);
      reduce(x);
    }
    return std::pair{x, saved(reduce)};
  };
  on_threads(3, [&](HostBackend& host) {
    const auto expected = steps(host);
    for (const int threads : {1, 3}) {
      OpenMpBackend backend{host.communicator(), OpenMpExecutor{threads}};
      const auto found = steps(backend);
      CHECK(same_bits(found.first, expected.first));
      CHECK(found.second == expected.second);
    }
  });
}

}  // namespace

TEST_CASE("a shared mask, ternary values and a residual") {
  check_threads<Combination<OneShotMagnitude, BitMask, Ternary, ErrorFeedback>>();
}
TEST_CASE("the largest of the gradient, in blocks of bytes") {
  check_threads<Combination<TopK, BitMask, Int8, ErrorFeedback>>();
}
TEST_CASE("factors, and sketches") {
  for (const int threads : {1, 2, 3, 5, 8, 16}) {
    CAPTURE(threads);
    OpenMpBackend backend{ThreadCommunicator{}, OpenMpExecutor{threads}};
    own::gives_the_bits_of_the_host_backend<own::Factors>(backend);
    own::gives_the_bits_of_the_host_backend<own::Sketches>(backend);
  }
}
TEST_CASE("ranks' own choices, by owners and as filters") {
  const TopK most{.fraction = 0.02, .scope = Scope::global};
  check_way<SparseStreams<TopK>, IndexMask>({.policy = most});
  check_way<SparseStreams<TopK>, IndexMask>({.policy = {.fraction = 0.4}});
  check_way<Balanced<TopK>, IndexMask>({.policy = most, .threshold_period = 2});
  check_way<Hashed<TopK>, BitMask>({.policy = most});
  check_way<Gathered<TopK>, BloomMask>(most);
}

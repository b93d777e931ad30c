// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the third call on, nothing is allocated on any thread: shared policies, every mask, every
// codec, with and without feedback. A program of its own, as it replaces operator new.
#include <pipeline/allocations.hpp>
#include <pipeline/support.hpp>
#include <suite/policies_made.hpp>

#include <pactrain/adaptive.hpp>
#include <pactrain/compress/int8.hpp>
#include <pactrain/compress/low_rank.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/block_mask.hpp>
#include <pactrain/mask/full_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/mask/n_of_m_mask.hpp>
#include <pactrain/scattered.hpp>

#include <doctest/doctest.h>

#include <barrier>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::Combination;
using reducer::Make;
using reducer::sliced;

namespace {

/// Calls of one rank: flat, cut, and by parts that overlap.
template <class Reducer>
void call(Reducer& reduce, std::vector<float>& gradient, std::vector<Slice<float>>& parts,
          const std::vector<Slice<float>>& rest, const std::vector<Slice<float>>& last) {
  gradient.assign(gradient.size(), 1.0f);
  reduce(gradient);
  reduce(parts);
  if constexpr (!is_learned<typename Reducer::policy_type>) {
    Pending first = reduce.start(rest), second = reduce.start(last);
    second.wait();
    first.wait();
  } else {
    static_cast<void>(rest);
    static_cast<void>(last);
  }
}

/// Is the mask of the first call that of the others? A new one is agreed on, and may allocate.
template <class P>
constexpr bool first_mask_stands = !is_learned<P> && !std::same_as<P, GradualMagnitude>;

template <class P, class M, class Z = Identity, class F = NoFeedback>
void check_no_allocation() {
  constexpr std::size_t n = 2000;
  for (const int ranks : {1, 2, 3}) {
    std::barrier all_ranks(ranks);
    std::uint64_t counted = 0;
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      const auto weights = values_of<float>(7, n);
      std::vector<float> gradient(n);
      const std::vector<std::size_t> sizes{n / 3, 0, n - n / 3};
      const Values parts_of_weights(sliced(std::span<const float>(weights), sizes, true));
      auto parts = sliced(std::span<float>(gradient), sizes, true);
      const std::vector rest{parts[1], parts[0]}, last{parts[2]};
      OnThreads<P, M, Z, F> reduce{backend, Make<P>::of(parts_of_weights, 0.4)};
      const auto count = [&](int rounds, auto body) {
        all_ranks.arrive_and_wait();
        if (rank == 0) start_counting_allocations();
        all_ranks.arrive_and_wait();
        for (int round = 0; round < rounds; ++round) body();
        all_ranks.arrive_and_wait();
        if (rank == 0) counted += stop_counting_allocations();
        all_ranks.arrive_and_wait();
      };
      for (int round = 0; round < 2; ++round) reduce(parts);
      if (first_mask_stands<P>) count(10, [&] { reduce(parts); });  // from the third call on
      const auto round = [&] { call(reduce, gradient, parts, rest, last); };
      for (int i = 0; i < 3; ++i) round();
      count(40, round);
    });
    CAPTURE(ranks);
    CHECK(counted == 0);
  }
}
template <class M>
void check_codecs() {
  check_no_allocation<Pruned, M>();
  check_no_allocation<Pruned, M, Identity, ErrorFeedback>();
  check_no_allocation<Pruned, M, Cast<bfloat16>>();
  check_no_allocation<Pruned, M, Ternary, ErrorFeedback>();
  check_no_allocation<Pruned, M, Int8>();
}

/// The same for a codec with a way of its own over the ranks.
template <class Z>
void check_no_allocation_of(Z codec) {
  for (const int ranks : {1, 2, 3}) {
    std::barrier all_ranks(ranks);
    std::uint64_t counted = 0;
    with_ranks(ranks, [&](HostBackend& backend, int rank) {
      std::vector<float> gradient(2000, 1.0f);
      const std::vector<Slice<float>> parts{{"w", std::span(gradient).first(1600), 40},
                                            {"v", std::span(gradient).subspan(1600)}};
      DenseAllReduce<HostBackend, Z, ErrorFeedback> reduce{backend, {}, codec};
      for (int round = 0; round < 2; ++round) reduce(parts);
      all_ranks.arrive_and_wait();
      if (rank == 0) start_counting_allocations();
      all_ranks.arrive_and_wait();
      for (int round = 0; round < 10; ++round) reduce(parts);
      all_ranks.arrive_and_wait();
      if (rank == 0) counted = stop_counting_allocations();
      all_ranks.arrive_and_wait();
    });
    CAPTURE(ranks);
    CHECK(counted == 0);
  }
}

}  // namespace

TEST_CASE("the counter counts") {
  start_counting_allocations();
  // What nobody else could see a compiler may leave out; a volatile pointer is seen.
  int* volatile const number = new int;
  delete number;
  std::vector<double>* volatile const vector = new std::vector<double>(100);
  delete vector;
  CHECK(stop_counting_allocations() == 3);
}

TEST_CASE("bit masks") {
  check_codecs<BitMask>();
  check_no_allocation<Pruned, BitMask, Cast<float16>, ErrorFeedback>();
  check_no_allocation<Pruned, BitMask, Ternary>();
  check_no_allocation<Pruned, BitMask, Int8, ErrorFeedback>();
}
TEST_CASE("index masks") { check_codecs<IndexMask>(); }
TEST_CASE("block masks") { check_codecs<BlockMask<8>>(); }
TEST_CASE("masks of N in M") {
  check_no_allocation<NofM<2, 4>, NofMMask<2, 4>>();
  check_no_allocation<NofM<2, 4>, NofMMask<2, 4>, Ternary, ErrorFeedback>();
}
TEST_CASE("full masks") {
  check_no_allocation<KeepAll, FullMask>();
  check_no_allocation<KeepAll, FullMask, Int8, ErrorFeedback>();
}
TEST_CASE("policies") {
  check_no_allocation<OneShotMagnitude, BitMask>();
  check_no_allocation<GradualMagnitude, BitMask>();
  check_no_allocation<RandomPruning, BitMask>();
  check_no_allocation<NofM<1, 4>, BitMask>();
  check_no_allocation<BlockMagnitude<16>, BitMask>();
  check_no_allocation<TrackZeros, BitMask>();
  check_no_allocation<TrackZeros, BitMask, Ternary, ErrorFeedback>();
}
TEST_CASE("owners of shares") {
  check_no_allocation_of(Scattered<Int8, ErrorFeedback>{});
  check_no_allocation_of(Sharded<Int8>{});
}
TEST_CASE("what chooses among ways") {
  const CostModel fast{.rate = 1e12, .pack = 1, .codecs = {{.encode = 1}}};
  const CostModel slow{.rate = 1e3, .codecs = {{.bytes = 1}}};
  check_no_allocation_of(Adaptive<Ternary>{.model = fast});
  check_no_allocation_of(Adaptive<Ternary>{.model = slow});
}
TEST_CASE("factors") {
  check_no_allocation_of(LowRank{});
  check_no_allocation_of(LowRank{.error = LowRankError::local});
  check_no_allocation_of(LowRank{.start = 100});
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kokkos/world.hpp>
#include <pipeline/allocations.hpp>
#include <suite/own_exchange.hpp>
#include <suite/sparse_all_reduce.hpp>

#include <pactrain/compress/cast.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/block_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/mask/n_of_m_mask.hpp>

#include <doctest/doctest.h>
#include <kokkos/same_bits.hpp>

#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::reducer;

using Lossless = Combination<GradualMagnitude, BitMask>;
using Lossy = Combination<TopK, IndexMask, Int8, ErrorFeedback>;
using Learned = Combination<TrackZeros, BitMask, Ternary>;
using Halved = Combination<RandomPruning, BlockMask<4>, Cast<bfloat16>>;
using Regular = Combination<NofM<2, 4>, NofMMask<2, 4>, Identity, NoFeedback, double>;

TEST_CASE_TEMPLATE_INVOKE(sparse_all_reduce_suite, On<KokkosThreads, Lossless>,
                          On<KokkosThreads, Lossy>);

TEST_CASE_TEMPLATE("a Kokkos space gives the bits of the host backend", C, Lossless, Lossy, Learned,
                   Halved, Regular) {
  gives_the_bits_of_the_host_backend<C>();
}

TEST_CASE("factors and sketches on a Kokkos space have the bits of the host backend") {
  KokkosBackend<Space, ThreadCommunicator> backend;
  own::gives_the_bits_of_the_host_backend<own::Factors>(backend);
  own::gives_the_bits_of_the_host_backend<own::Sketches>(backend);
}

namespace {
struct Nothing {
  PACTRAIN_FN void operator()(std::size_t) const {}
};
/// Does Kokkos allocate where it launches a kernel? (4.6 does on OpenMP and Threads.)
bool kokkos_allocates() {
  const std::string label = "nothing";
  const Space space{};
  start_counting_allocations();
  Kokkos::parallel_for(label, Kokkos::RangePolicy<Space>(space, 0, 1), Nothing{});
  return stop_counting_allocations() > 0;
}
}  // namespace

TEST_CASE("equal calls allocate nothing of their own from the third on") {
  KokkosBackend<Space, ThreadCommunicator> backend;
  const auto weights = values_of<float>(7, 2000);
  std::vector<float> gradient = weights;
  SparseAllReduce<RandomPruning, BlockMask<4>, decltype(backend), Cast<bfloat16>> reduce{
      backend, {.weights = weights, .sparsity = 0.5}};
  for (int round = 0; round < 2; ++round) reduce(gradient);
  start_counting_allocations();
  for (int round = 0; round < 10; ++round) reduce(gradient);
  const auto allocations = stop_counting_allocations();
  CHECK((allocations == 0 || kokkos_allocates()));
}

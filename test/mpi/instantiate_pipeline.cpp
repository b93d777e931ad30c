// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi/world.hpp>
#include <suite/own_exchange.hpp>
#include <suite/sparse_all_reduce.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::reducer;

using Processes = MpiWorld<>;

TEST_CASE_TEMPLATE_INVOKE(sparse_all_reduce_suite,
                          On<Processes, Combination<GradualMagnitude, BitMask>>,
                          On<Processes, Combination<Pruned, BitMask, Ternary, ErrorFeedback>>,
                          On<Processes, Combination<TopK, IndexMask, Int8, ErrorFeedback>>);

TEST_CASE("factors and sketches") {
  own::check<own::Factors, Processes>();
  own::check<own::Sketches, Processes>();
}

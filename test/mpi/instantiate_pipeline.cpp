// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi/world.hpp>
#include <suite/method_all_reduce.hpp>
#include <suite/sparse_all_reduce.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/low_rank_all_reduce.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/sketch_all_reduce.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::reducer;

using Processes = MpiWorld<>;

TEST_CASE_TEMPLATE_INVOKE(sparse_all_reduce_suite,
                          On<Processes, Combination<GradualMagnitude, BitMask>>,
                          On<Processes, Combination<Pruned, BitMask, Ternary, ErrorFeedback>>,
                          On<Processes, Combination<TopK, IndexMask, Int8, ErrorFeedback>>);

TEST_CASE("reducers of a whole model, of factors and of sketches") {
  method::check_method<LowRank, Processes>();
  method::check_method<Sketch, Processes>();
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <host/world.hpp>
#include <suite/sparse_all_reduce.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::reducer;

TEST_CASE_TEMPLATE_INVOKE(sparse_all_reduce_suite,
                          On<Threads, Combination<Pruned, BitMask, Cast<float16>, ErrorFeedback>>,
                          On<Threads, Combination<Pruned, BitMask, Cast<bfloat16>, ErrorFeedback>>,
                          On<Threads, Combination<Pruned, BitMask, Ternary, ErrorFeedback>>,
                          On<Threads, Combination<TopK, BitMask, Int4, ErrorFeedback>>,
                          On<Threads, Combination<TopK, BitMask, Int8, ErrorFeedback>>);

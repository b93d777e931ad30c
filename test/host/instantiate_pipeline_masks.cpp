// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <host/world.hpp>
#include <suite/sparse_all_reduce.hpp>

#include <pactrain/mask/block_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/mask/n_of_m_mask.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::reducer;

TEST_CASE_TEMPLATE_INVOKE(sparse_all_reduce_suite, On<Threads, Combination<Pruned, IndexMask>>,
                          On<Threads, Combination<Pruned, BlockMask<4>>>,
                          On<Threads, Combination<NofM<2, 4>, NofMMask<2, 4>>>);

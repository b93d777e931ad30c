// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/own_exchange.hpp>
#include <suite/sparse_all_reduce.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>

#include <cuda/host_world.hpp>
#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::reducer;

TEST_CASE_TEMPLATE_INVOKE(
    sparse_all_reduce_suite,
    On<ThrustThreads<ThrustSerial>, Combination<Pruned, BitMask, Ternary, ErrorFeedback>>,
    On<ThrustThreads<ThrustOpenMp>, Combination<TopK, IndexMask>>);

TEST_CASE("factors and sketches have the bits of the host backend") {
  ThrustThreads<ThrustSerial>::backend_type serial;
  own::gives_the_bits_of_the_host_backend<own::Factors>(serial);
  own::gives_the_bits_of_the_host_backend<own::Sketches>(serial);
}

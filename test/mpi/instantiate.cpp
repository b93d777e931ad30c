// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mpi/world.hpp>
#include <suite/communicator.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// Messages of a few bytes: what is beyond 2^31 elements goes the same way.
struct TinyMessages {
  static MpiOptions options() { return {.segment = 24, .message_limit = 40}; }
};
using Whole = MpiWorld<>;
using Cut = MpiWorld<TinyMessages>;

}  // namespace

TYPE_TO_STRING(Whole);
TYPE_TO_STRING(Cut);
TEST_CASE_TEMPLATE_INVOKE(communicator::communicator_suite, Whole, Cut);

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <openmp/world.hpp>
#include <suite/communicator.hpp>
#include <suite/executor.hpp>

#include <pactrain/openmp/executor.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;

namespace {

template <int count>
struct OnThreads : OpenMpExecutor {
  OnThreads() : OpenMpExecutor(count) {}
};
using OnOneThread = OnThreads<1>;
using OnThreeThreads = OnThreads<3>;
using OnEightThreads = OnThreads<8>;

}  // namespace

TYPE_TO_STRING(OnOneThread);
TYPE_TO_STRING(OnThreeThreads);
TYPE_TO_STRING(OnEightThreads);
TYPE_TO_STRING(OpenMpThreads);
TEST_CASE_TEMPLATE_INVOKE(executor::executor_suite, OpenMpExecutor, OnOneThread, OnThreeThreads,
                          OnEightThreads);
TEST_CASE_TEMPLATE_INVOKE(communicator::communicator_suite, OpenMpThreads);

TEST_CASE("a negative number of threads is refused") {
  CHECK_THROWS_AS(OpenMpExecutor(-1), PreconditionError);
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kokkos/world.hpp>
#include <suite/executor.hpp>

#include <pactrain/kokkos/executor.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;

using OnKokkos = KokkosExecutor<Space>;

TYPE_TO_STRING(OnKokkos);
TEST_CASE_TEMPLATE_INVOKE(executor::executor_suite, OnKokkos);

TEST_CASE("an executor runs on the instance that it is given") {
  const Space space{};
  KokkosExecutor<Space> exec{space};
  auto buffer = exec.make_buffer<std::size_t>(1000);
  exec.for_each(1000, executor::Square{buffer.data()});
  space.fence();
  CHECK(buffer.data()[999] == 999 * 999);
}

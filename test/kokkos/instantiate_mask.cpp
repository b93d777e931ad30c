// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kokkos/world.hpp>
#include <suite/mask.hpp>

#include <doctest/doctest.h>

using namespace pactrain::test;

TYPE_TO_STRING(KokkosThreads);
TEST_CASE_TEMPLATE_INVOKE(mask::mask_suite, KokkosThreads);

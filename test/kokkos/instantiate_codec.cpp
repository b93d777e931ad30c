// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kokkos/world.hpp>
#include <suite/codec.hpp>

#include <pactrain/kokkos/executor.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;

using OnKokkos = KokkosExecutor<Space>;

TYPE_TO_STRING(OnKokkos);
TEST_CASE_TEMPLATE_INVOKE(codec::codec_suite, OnKokkos);

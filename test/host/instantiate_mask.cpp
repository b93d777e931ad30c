// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <host/world.hpp>
#include <suite/mask.hpp>
#include <suite/mask_models.hpp>

#include <doctest/doctest.h>

using namespace pactrain::test;

TYPE_TO_STRING(Threads);
TEST_CASE_TEMPLATE_INVOKE(mask::mask_suite, Threads);
TEST_CASE_TEMPLATE_INVOKE(mask::mask_model_suite, Threads);

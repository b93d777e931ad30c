// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/codec.hpp>

#include <pactrain/host/executor.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;

TYPE_TO_STRING(HostExecutor);
TYPE_TO_STRING(PlainExecutor);
TEST_CASE_TEMPLATE_INVOKE(codec::codec_suite, HostExecutor, PlainExecutor);

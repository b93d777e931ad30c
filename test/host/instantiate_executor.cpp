// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/executor.hpp>
#include <suite/fake_device.hpp>
#include <suite/plain_executor.hpp>

#include <pactrain/host/executor.hpp>

#include <doctest/doctest.h>

using namespace pactrain;
using namespace pactrain::test;

TYPE_TO_STRING(HostExecutor);
TYPE_TO_STRING(PlainExecutor);
TYPE_TO_STRING(FakeDeviceExecutor);
TEST_CASE_TEMPLATE_INVOKE(executor::executor_suite, HostExecutor, PlainExecutor,
                          FakeDeviceExecutor);

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main of tests that need Kokkos: pactrain itself never initialises it.
#define DOCTEST_CONFIG_IMPLEMENT
#include <Kokkos_Core.hpp>
#include <doctest/doctest.h>

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  return doctest::Context(argc, argv).run();
}

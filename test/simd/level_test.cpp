// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/host/simd.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <stdexcept>

using namespace pactrain;
using simd::Level;

TEST_CASE("a level is chosen by name, and the best without one") {
  CHECK(simd::level_from("", Level::avx2) == Level::avx2);
  CHECK(simd::level_from("portable", Level::avx512) == Level::portable);
  CHECK(simd::level_from("avx2", Level::avx512) == Level::avx2);
  CHECK(simd::level_from("avx512", Level::avx512vbmi2) == Level::avx512);
  CHECK(simd::level_from("avx512vbmi2", Level::avx512vbmi2) == Level::avx512vbmi2);
}

TEST_CASE("a level the processor lacks is refused with the one to use instead") {
  CHECK_THROWS_WITH_AS(static_cast<void>(simd::level_from("avx512", Level::avx2)),
                       "pactrain: PACTRAIN_SIMD asks for avx512, which this processor lacks. "
                       "Set it to avx2 or unset it?",
                       PreconditionError);
}

TEST_CASE("a name that is no level is refused with the list of those that are") {
  for (const char* name : {"AVX2", "avx", "avx5120", "native"}) {
    CHECK_THROWS_AS(static_cast<void>(simd::level_from(name, Level::avx512)), PreconditionError);
  }
  CHECK_THROWS_WITH(static_cast<void>(simd::level_from("sse", Level::avx512)),
                    "pactrain: PACTRAIN_SIMD is \"sse\", which names no SIMD level. "
                    "Set it to portable, avx2, avx512 or avx512vbmi2, or unset it?");
}

TEST_CASE("the level in use follows the environment") {
  const char* name = std::getenv("PACTRAIN_SIMD");
  CHECK(simd::level() == simd::level_from(name == nullptr ? "" : name, simd::best_level()));
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <host/world.hpp>
#include <suite/sparse_all_reduce.hpp>

#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/openmp/backend.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <utility>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::reducer;

namespace {

/// Ranks that are threads, each with two threads of OpenMP's.
struct OpenMpThreads : Threads {
  using backend_type = OpenMpBackend;
  template <class Body>
  static void run(int ranks, Body body, std::chrono::milliseconds timeout = patience) {
    Threads::run(
        ranks,
        [&](HostBackend& backend) {
          OpenMpBackend with_threads{std::move(backend.communicator()), OpenMpExecutor{2}};
          body(with_threads);
        },
        timeout);
  }
};

}  // namespace

TEST_CASE_TEMPLATE_INVOKE(sparse_all_reduce_suite,
                          On<OpenMpThreads, Combination<OneShotMagnitude, BitMask>>,
                          On<OpenMpThreads, Combination<TopK, BitMask, Int8, ErrorFeedback>>);

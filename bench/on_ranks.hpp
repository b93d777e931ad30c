// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "paired.hpp"

#include <pactrain/core/collectives.hpp>
#include <pactrain/host/backend.hpp>

#include <span>

namespace pactrain::bench {

/// The seconds of one call: the longest that a rank took, all having begun together.
template <class Call>
double call_seconds(HostBackend& backend, Call call) {
  double start = 0;
  all_reduce(backend.executor(), backend.communicator(), std::span<double>(&start, 1), Max{});
  double taken = seconds<WallTime>(call);
  all_reduce(backend.executor(), backend.communicator(), std::span<double>(&taken, 1), Max{});
  return taken;
}

}  // namespace pactrain::bench

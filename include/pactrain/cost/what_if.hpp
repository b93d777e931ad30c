// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/cost/add_table.hpp>
#include <pactrain/cost/fusion.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace pactrain {

/// The ranks, their links and what compression makes of the bytes.
struct WhatIfNetwork {
  int ranks = 1;
  double rate = 1e10;      ///< bits a second, each way
  double compression = 1;  ///< bytes before over bytes after; costs nothing
  AddTable add{};
};

/// What a step would be if the link were used fully: when each request is on the wire, and how late
/// the last one is.
struct WhatIf {
  std::vector<std::pair<double, double>> on_wire;  ///< seconds of begin and end, in order
  double backward_end = 0, end = 0;                ///< seconds

  /// Seconds that a step waits for communication after backward.
  [[nodiscard]] double overhead() const { return std::max(end - backward_end, 0.0); }
  /// The throughput of all ranks over that of as many times one rank, whose batch takes
  /// `batch_seconds` (forward, backward, update): batch_seconds / (batch_seconds + overhead).
  [[nodiscard]] double scaling_factor(double batch_seconds) const {
    return batch_seconds / (batch_seconds + overhead());
  }
};

/// The what-if study of Zhang et al. ("Is Network the Bottleneck of Distributed Training?", arXiv
/// 2006.10103) as a calculation: gradients are fused, and one ring all-reduce after the other
/// carries them. A request of S bytes starts when the wire is free and it is ready, and takes
///
///     2 * net + add,  net = 8 * S * (P - 1) / P / rate / compression,  add = (P - 1) * Add(S / P)
///
/// No latency, no contention. Throws `PreconditionError` for a network that cannot be.
inline WhatIf what_if(std::span<const LayerGradient> layers, const WhatIfNetwork& network,
                      FusionRule rule = {}) {
  expects(network.ranks > 0 && network.rate > 0 && network.compression >= 1,
          "there is no such network; give at least one rank, a rate above 0 and a compression of 1 "
          "or more");
  WhatIf result;
  for (const LayerGradient& layer : layers) result.backward_end += std::max(layer.wait, 0.0);
  result.end = result.backward_end;
  if (network.ranks == 1) return result;
  const double ranks = network.ranks;
  double free = 0;
  for (const FusedRequest& request : fuse(layers, rule)) {
    const double net = 8 * request.bytes * (ranks - 1) / ranks / network.rate / network.compression;
    const double start = std::max(free, request.ready);
    free = start + 2 * net + (ranks - 1) * network.add(request.bytes / ranks);
    result.on_wire.emplace_back(start, free);
  }
  result.end = std::max(result.end, free);
  return result;
}

}  // namespace pactrain

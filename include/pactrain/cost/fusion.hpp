// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace pactrain {

/// A layer's gradient in the order of backward: the seconds from when the gradient before it was
/// ready (from the start of backward, for the first) until it is, and its bytes. Negative waits
/// count as 0; no bytes only take time.
struct LayerGradient {
  double wait = 0, bytes = 0;
};

/// When gradients that are ready go out together: once one becomes ready and as much time has
/// passed, or as many bytes have gathered, since the last request.
struct FusionRule {
  double seconds = 5e-3;
  double bytes = 64.0 * (1 << 20);
};

/// Bytes to be reduced, and the second of the step at which they are ready.
struct FusedRequest {
  double ready = 0, bytes = 0;
};

/// Groups gradients by a rule; what is left at the end is a request too. Sizes are before
/// compression. O(layers).
inline std::vector<FusedRequest> fuse(std::span<const LayerGradient> layers, FusionRule rule = {}) {
  std::vector<FusedRequest> requests;
  double now = 0, since = 0, bytes = 0;
  for (const LayerGradient& layer : layers) {
    now += std::max(layer.wait, 0.0);
    since += std::max(layer.wait, 0.0);
    bytes += layer.bytes;
    if (bytes == 0 || (since < rule.seconds && bytes < rule.bytes)) continue;
    requests.push_back({now, bytes});
    since = bytes = 0;
  }
  if (bytes > 0) requests.push_back({now, bytes});
  return requests;
}

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overlap with backward: each layer's gradient is handed over when it is ready, groups of them are
// reduced while backward goes on, and `finish` ends the step. Masks and residuals belong to
// parameters, so the result has the same bits as one call for all.
#include <pactrain/pactrain.hpp>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <span>
#include <vector>

using namespace pactrain;

int main() {
  on_threads(2, [](HostBackend& backend) {
    const int rank = backend.communicator().rank();
    std::vector<float> first(1000, 1.0f), last(500, 2.0f);  // weights, then their gradients
    const std::vector<Slice<float>> model{{"first", first}, {"last", last}};
    std::vector<float> first_gradient(1000), last_gradient(500);
    const std::vector<Slice<float>> gradients{{"first", first_gradient}, {"last", last_gradient}};

    SparseAllReduce<OneShotMagnitude, BitMask, HostBackend> reduce{
        backend, {.weights = model, .sparsity = 0.5}};
    Trace trace{rank};
    GradientBuckets buckets{reduce, gradients, {.bytes = 2048, .trace = &trace}};

    for (int step = 0; step < 3; ++step) {
      for (std::size_t layer = gradients.size(); layer-- > 0;) {  // the last layer comes first
        trace.time("backward", gradients[layer].name, [&] {
          for (float& g : gradients[layer].values) g = static_cast<float>(rank);
        });
        buckets.ready(layer);
        buckets.advance();
      }
      const Report report = buckets.finish();
      if (report.kept != 750 || first_gradient[0] != 0.5f) throw Error("not as it should be");
    }

    if (rank != 0) return;
    std::ofstream file("05_buckets.trace.json");  // opens in Perfetto
    trace.write(file);
    std::printf("%zu buckets, kept %zu of %zu\n", buckets.bucket_count(), reduce.mask().count(),
                reduce.mask().size());
  });
}

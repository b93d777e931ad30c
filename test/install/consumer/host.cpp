// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/pactrain.hpp>

#include <vector>

using namespace pactrain;

int main() {
  on_threads(2, [](HostBackend& backend) {
    std::vector<float> weights(100, 1.0f), gradient(100, 1.0f);
    SparseAllReduce<OneShotMagnitude, BitMask, HostBackend> reduce{
        backend, {.weights = weights, .sparsity = 0.9}};
    const Report report = reduce(gradient);
    expects(report.kept == 10, "one entry in ten is kept");
  });
}

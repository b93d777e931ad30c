// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a model are reduced as soon as their gradients are ready, while the rest is computed:
// `start` returns a `Pending`, `wait` ends it. Masks and residuals belong to parameters, so the
// result has the same bits as one call for all.
#include <pactrain/pactrain.hpp>

#include <cstdio>
#include <vector>

using namespace pactrain;

int main() {
  on_threads(2, [](HostBackend& backend) {
    const auto rank = static_cast<float>(backend.communicator().rank());
    std::vector<float> first(1000, 1.0f), last(500, 2.0f);  // weights, then their gradients
    const std::vector<Slice<float>> model{{"first", first}, {"last", last}};

    SparseAllReduce<OneShotMagnitude, BitMask, HostBackend> reduce{
        backend, {.weights = model, .sparsity = 0.5}};

    std::vector<float> first_gradient(1000), last_gradient(500);
    for (int step = 0; step < 3; ++step) {
      for (float& g : last_gradient) g = rank;  // backward reaches the last layer first
      const std::vector<Slice<float>> last_bucket{{"last", last_gradient}};
      Pending last_pending = reduce.start(last_bucket);

      for (float& g : first_gradient) g = 10 * rank;
      last_pending.advance();  // progress between two pieces of work
      const std::vector<Slice<float>> first_bucket{{"first", first_gradient}};
      Pending first_pending = reduce.start(first_bucket);

      last_pending.wait();
      first_pending.wait();
    }
    if (backend.communicator().rank() == 0) {
      std::printf("kept %zu of %zu; steps %d\n", reduce.mask().count(), reduce.mask().size(),
                  static_cast<int>(reduce.step()));
    }
    if (reduce.step() != 3 || reduce.mask().count() != 750) throw Error("not as it should be");
  });
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Four workers, threads of one process, prune a model while they train it.
#include <pactrain/pactrain.hpp>

#include <cstdio>
#include <span>
#include <vector>

using namespace pactrain;

namespace {

/// The gradient of a quadratic bowl whose lowest point differs from worker to worker.
void backward(std::span<const float> weights, std::span<float> gradient, int worker) {
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float lowest = static_cast<float>(i % 100) / 10.0f + static_cast<float>(worker);
    gradient[i] = weights[i] - lowest;
  }
}

void train(HostBackend& backend) {
  std::vector<float> weights(10'000, 0.5f), gradient(weights.size());
  SparseAllReduce<GradualMagnitude, BitMask, HostBackend> reduce{
      backend, {.weights = weights, .final_sparsity = 0.9, .begin = 5, .end = 25, .every = 5}};
  broadcast(backend, weights);  // all replicas start alike

  for (Step step = 0; step < 30; ++step) {
    backward(weights, gradient, backend.communicator().rank());
    const Report report = reduce(gradient);  // the mean over all workers, zero where pruned
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.1f * gradient[i];
    reduce.mask().apply(weights);  // pruned weights stay exactly zero

    if (backend.communicator().rank() == 0 && step % 5 == 0) {
      std::printf("step %2d: %5zu of %zu entries travelled, %6llu of %llu bytes\n",
                  static_cast<int>(step), report.kept, report.entries,
                  static_cast<unsigned long long>(report.bytes_sent),
                  static_cast<unsigned long long>(report.dense_bytes));
    }
  }
}

}  // namespace

int main() { on_threads(4, train); }

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trains a small perceptron on Fashion-MNIST with Kokkos alone: Views throughout, MPI between
// ranks, the network pruned to a tenth while it learns. `mpirun -n 2 kokkos_fashion_mnist [steps]`
#include "network.hpp"

#include <pactrain/kokkos/backend.hpp>
#include <pactrain/mpi/backend.hpp>
#include <pactrain/pactrain.hpp>

#include <Kokkos_Core.hpp>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace pactrain;
using namespace demo;

namespace {

/// Both layers as the parts of a model.
std::vector<Slice<float>> parts(const Parameters& values) {
  return {{"first", as_span(values.first)}, {"second", as_span(values.second)}};
}

int train(Step steps) {
  KokkosBackend<> backend{MPI_COMM_WORLD};  // on a device: KokkosBackend<Space, HostStaged<...>>
  const int rank = backend.communicator().rank(), ranks = backend.communicator().size();
  const FashionMnist data = load_fashion_mnist(default_data_directory);
  const int batches = 60;
  const Pictures pictures = load(data.train, batches * batch, rank, ranks);

  const Parameters weights, gradient;
  const Activation y;
  const Matrix delta("delta", batch, hidden);
  initialise(weights.first);
  initialise(weights.second);
  SparseAllReduce<GradualMagnitude, BitMask, KokkosBackend<>> reduce{backend,
                                                                     {.weights = parts(weights),
                                                                      .final_sparsity = 0.9,
                                                                      .begin = steps / 10,
                                                                      .end = steps / 2,
                                                                      .every = 5}};
  Report report;
  for (Step step = 0; step < steps; ++step) {
    const int begin = static_cast<int>(step % batches) * batch;
    hidden_layer(weights.first, pictures.x, begin, y.first);
    softmax_layer(weights.second, y.first, y.second);
    errors(weights.second, pictures.label, begin, y.second, y.first, delta);
    layer_gradient(delta, pictures.x, begin, gradient.first);
    layer_gradient(y.second, y.first, 0, gradient.second);
    report = reduce(parts(gradient));
    descend(weights.first, gradient.first, 0.1f);
    descend(weights.second, gradient.second, 0.1f);
    reduce.mask().apply(parts(weights));
  }

  const int tested = 16 * batch;
  const Pictures test = load(data.test, tested, 0, 1);
  int right = 0;
  for (int begin = 0; begin < tested; begin += batch) {
    hidden_layer(weights.first, test.x, begin, y.first);
    softmax_layer(weights.second, y.first, y.second);
    right += correct(y.second, test.label, begin);
  }
  if (rank == 0) {
    std::printf(
        "%.1f %% of %d pictures right, %zu of %zu weights kept, %zu bytes sent in the last "
        "step, dense %zu\n",
        100.0 * right / tested, tested, report.kept, report.entries, std::size_t{report.bytes_sent},
        std::size_t{report.dense_bytes});
  }
  return right > tested / 2 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize(argc, argv);
  const int failed = train(argc > 1 ? static_cast<Step>(std::atoi(argv[1])) : 300);
  Kokkos::finalize();
  MPI_Finalize();
  return failed;
}

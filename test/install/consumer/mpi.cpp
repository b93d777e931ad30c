// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/mpi/backend.hpp>
#include <pactrain/pactrain.hpp>

#include <mpi.h>

#include <vector>

using namespace pactrain;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    MpiBackend backend{MPI_COMM_WORLD};
    std::vector<float> weights(100, 1.0f), gradient(100, 1.0f);
    SparseAllReduce<OneShotMagnitude, BitMask, MpiBackend> reduce{
        backend, {.weights = weights, .sparsity = 0.9}};
    const Report report = reduce(gradient);
    expects(report.kept == 10, "one entry in ten is kept");
  }
  MPI_Finalize();
}

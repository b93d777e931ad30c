// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One GPU for each process: `mpirun -n <GPUs> gpu_per_process`. MPI starts the processes and tells
// them NCCL's id; gradients travel by NCCL.
#include <pactrain/mpi/communicator.hpp>
#include <pactrain/nccl/backend.cuh>
#include <pactrain/pactrain.hpp>

#include <mpi.h>
#include <thrust/device_vector.h>

#include <cstdio>

using namespace pactrain;

namespace {

/// Takes the GPU of this process's number on its node; false where there are too few.
bool take_gpu() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int number = 0, gpus = 0;
  MPI_Comm_rank(node, &number);
  MPI_Comm_free(&node);
  int taken = cudaGetDeviceCount(&gpus) == cudaSuccess && number < gpus ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return taken == 1 && cudaSetDevice(number) == cudaSuccess;
}

void train() {
  MpiCommunicator processes{MPI_COMM_WORLD};
  NcclBackend backend{NcclCommunicator::over(processes)};
  const auto rank = static_cast<float>(processes.rank());
  thrust::device_vector<float> weights(100'000, 0.5f), gradient(weights.size());

  SparseAllReduce<RandomPruning, BitMask, NcclBackend> reduce{
      backend, {.weights = weights, .sparsity = 0.9}};
  broadcast(backend, weights);
  for (int step = 0; step < 3; ++step) {
    thrust::fill(gradient.begin(), gradient.end(), rank);
    const Report report = reduce(gradient);  // the mean over all GPUs, zero where pruned
    reduce.mask().apply(weights);
    if (processes.rank() == 0) std::printf("%zu of %zu travelled\n", report.kept, report.entries);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool taken = take_gpu();
  if (taken) train();
  else std::puts("skipped: there is no GPU for each process");
  MPI_Finalize();
  return taken ? 0 : 77;
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All GPUs of one process: a thread for each, which makes its GPU the current one.
#include <pactrain/nccl/backend.cuh>
#include <pactrain/pactrain.hpp>

#include <thrust/device_vector.h>

#include <cstdio>

using namespace pactrain;

namespace {

void train(HostBackend& threads) {
  const int rank = threads.communicator().rank();
  gpu::check(cudaSetDevice(rank), "cudaSetDevice");
  NcclBackend backend{NcclCommunicator::over(threads.communicator())};

  thrust::device_vector<float> gradient(100'000);
  SparseAllReduce<TopK, BitMask, NcclBackend, Cast<bfloat16>, ErrorFeedback> reduce{
      backend, {.fraction = 0.01}};
  for (int step = 0; step < 3; ++step) {
    thrust::fill(gradient.begin(), gradient.end(), static_cast<float>(rank));
    const Report report = reduce(gradient);
    if (rank == 0) std::printf("%zu of %zu travelled\n", report.kept, report.entries);
  }
}

}  // namespace

int main() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::puts("skipped: there is no GPU");
    return 77;
  }
  on_threads(gpus, train);
}

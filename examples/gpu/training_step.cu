// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A training step in the shape of llm.c's: parameters and gradients are slices of one buffer each,
// in bfloat16; gradients are reduced on a stream of their own, between events.
#include <pactrain/nccl/backend.cuh>
#include <pactrain/pactrain.hpp>

#include <cuda_bf16.h>
#include <thrust/device_vector.h>

#include <cstdio>
#include <vector>

using namespace pactrain;

namespace {

using floatX = __nv_bfloat16;
constexpr std::size_t sizes[] = {50304 * 64, 1024 * 64, 4 * 64 * 192, 4 * 192};
const char* const names[] = {"wte", "wpe", "qkvw", "qkvb"};

std::vector<Slice<bfloat16>> tensors(thrust::device_vector<floatX>& memory) {
  std::vector<Slice<bfloat16>> slices;
  const std::span<bfloat16> all = as_span(memory);
  for (std::size_t i = 0, first = 0; i < 4; first += sizes[i++]) {
    slices.push_back({names[i], all.subspan(first, sizes[i])});
  }
  return slices;
}

}  // namespace

int main() {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::puts("skipped: there is no GPU");
    return 77;
  }
  cudaStream_t main_stream, nccl_stream;
  cudaEvent_t ready, reduced;
  for (auto* stream : {&main_stream, &nccl_stream}) gpu::check(cudaStreamCreate(stream), "stream");
  for (auto* event : {&ready, &reduced}) gpu::check(cudaEventCreate(event), "event");
  thrust::device_vector<floatX> params(sizes[0] + sizes[1] + sizes[2] + sizes[3]), grads(params);

  ThreadCommunicator alone;  // or MpiCommunicator{MPI_COMM_WORLD}
  NcclBackend backend{NcclCommunicator::over(alone), nccl_stream};
  SparseAllReduce<GradualMagnitude, BitMask, NcclBackend> reduce{
      backend, {.weights = tensors(params), .final_sparsity = 0.9, .begin = 1, .end = 3}};
  for (int step = 0; step < 3; ++step) {
    // gpt2_backward(..., main_stream)
    gpu::check(cudaEventRecord(ready, main_stream), "cudaEventRecord");
    gpu::check(cudaStreamWaitEvent(nccl_stream, ready), "cudaStreamWaitEvent");
    const Report report = reduce(tensors(grads));
    gpu::check(cudaEventRecord(reduced, nccl_stream), "cudaEventRecord");
    gpu::check(cudaStreamWaitEvent(main_stream, reduced), "cudaStreamWaitEvent");
    // gpt2_update(..., main_stream)
    std::printf("step %d: kept %zu of %zu\n", step, report.kept, report.entries);
  }
}

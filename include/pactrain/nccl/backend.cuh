// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/cuda/executor.cuh>
#include <pactrain/cuda/values.hpp>
#include <pactrain/nccl/communicator.cuh>

#include <cuda_runtime_api.h>

#include <utility>

namespace pactrain {

/// Ranks are GPUs under NCCL, kernels run on a stream: `NcclBackend backend{comm, stream};`. The
/// device is the current one; gradients are spans of its memory, `thrust::device_vector`s, or
/// slices of them, in float, double, `__half` or `__nv_bfloat16`.
class NcclBackend : public BackendPair<CudaExecutor, NcclCommunicator> {
 public:
  explicit NcclBackend(NcclCommunicator comm, CudaExecutor exec = CudaExecutor{})
      : BackendPair(std::move(exec), std::move(comm)) {}
  /// On the caller's stream.
  NcclBackend(NcclCommunicator comm, cudaStream_t stream)
      : NcclBackend(std::move(comm), CudaExecutor(stream)) {}
};

static_assert(Backend<NcclBackend>);

}  // namespace pactrain

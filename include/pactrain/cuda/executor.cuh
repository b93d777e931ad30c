// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/executor.hpp>
#include <pactrain/cuda/error.hpp>
#include <pactrain/cuda/queue.hpp>
#include <pactrain/cuda/system.cuh>
#include <pactrain/cuda/thrust_executor.hpp>

#include <cuda_runtime_api.h>
#include <nvtx3/nvtx3.hpp>

#include <memory>
#include <utility>

namespace pactrain {

/// The domain of pactrain's ranges in NVIDIA's profilers.
struct NvtxDomain {
  static constexpr const char* name = "pactrain";
};

/// Runs kernels on a CUDA device: on the stream that is given, which stays the caller's and must
/// outlive the executor and its buffers, or on one of its own. The device is the one that is
/// current at construction; later calls may be made with any other. Everything is queued in the
/// stream's order; `read`, `write`, `fence` and `kth_largest` wait. Errors are thrown as
/// `BackendError` by the call that notices them: those of a kernel by a later one.
///
/// A default constructed one has a stream of its own that waits for what was queued on the legacy
/// default stream, and that one for it.
class CudaExecutor : public ThrustExecutor<CudaSystem> {
 public:
  CudaExecutor() = default;
  explicit CudaExecutor(cudaStream_t stream) : ThrustExecutor(CudaSystem(stream)) {}
  explicit CudaExecutor(std::shared_ptr<const gpu::Queue> queue)
      : ThrustExecutor(CudaSystem(std::move(queue))) {}

  [[nodiscard]] cudaStream_t stream() { return system().queue().stream(); }
  [[nodiscard]] int device() { return system().queue().device(); }

  /// May kernels dereference `memory`? Device memory of this device, managed and pinned memory; any
  /// memory on systems where a device reads the host's pages; other devices' only by their owners.
  [[nodiscard]] bool reaches(const void* memory) {
    if (memory == nullptr) return true;  // of an empty span
    cudaPointerAttributes attributes{};
    gpu::check(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
    if (attributes.type == cudaMemoryTypeDevice) return attributes.device == device();
    if (attributes.type != cudaMemoryTypeUnregistered) return true;
    int pageable = 0;
    gpu::check(cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, device()),
               "cudaDeviceGetAttribute");
    return pageable != 0;
  }

  /// Ranges of a reduction's stages, for profilers; they cost next to nothing where none listens.
  void begin_stage(const char* name) {
    const nvtx3::event_attributes attributes{name};
    nvtxDomainRangePushEx(nvtx3::domain::get<NvtxDomain>(), attributes.get());
  }
  void end_stage() { nvtxDomainRangePop(nvtx3::domain::get<NvtxDomain>()); }
};

static_assert(Executor<CudaExecutor>);

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/cuda/error.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>
#include <memory>

namespace pactrain::gpu {

/// A stream of a device, the caller's or one of its own, and the pool that memory on it comes from.
/// Memory that is given back stays in the pool, and other devices of the process may read and write
/// it, as NCCL does where they are connected. Neither moved nor copied.
class Queue {
 public:
  /// A stream of its own on the current device. It and the legacy default stream wait for each
  /// other's earlier work, so what was computed on that one needs no further care.
  Queue() : owned_(true) {
    check(cudaGetDevice(&device_), "cudaGetDevice");
    make_pool();
    check(cudaStreamCreate(&stream_), "cudaStreamCreate");
  }
  /// The caller's stream, of the current device; it must outlive the queue and its memory.
  explicit Queue(cudaStream_t stream) : stream_(stream) {
    check(cudaGetDevice(&device_), "cudaGetDevice");
    make_pool();
  }
  /// A stream of its own that waits for no other, of high priority.
  [[nodiscard]] static std::shared_ptr<const Queue> apart() {
    return std::shared_ptr<const Queue>(new Queue(Apart{}));
  }

  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  /// Does not wait: CUDA releases both when what is queued has run.
  ~Queue() {
    if (owned_ && stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
    if (pool_ != nullptr) static_cast<void>(cudaMemPoolDestroy(pool_));
  }

  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }
  [[nodiscard]] cudaMemPool_t pool() const noexcept { return pool_; }

 private:
  struct Apart {};
  explicit Queue(Apart) : owned_(true) {
    check(cudaGetDevice(&device_), "cudaGetDevice");
    make_pool();
    int lowest = 0, highest = 0;
    check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest),
          "cudaStreamCreateWithPriority");
  }
  void make_pool() {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device_};
    check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
    std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &all),
          "cudaMemPoolSetAttribute");
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    for (int peer = 0; peer < devices; ++peer) {
      int reaches = 0;
      if (peer != device_) {
        check(cudaDeviceCanAccessPeer(&reaches, peer, device_), "cudaDeviceCanAccessPeer");
      }
      if (reaches == 0) continue;
      const cudaMemAccessDesc access{{cudaMemLocationTypeDevice, peer},
                                     cudaMemAccessFlagsProtReadWrite};
      check(cudaMemPoolSetAccess(pool_, &access, 1), "cudaMemPoolSetAccess");
    }
  }

  int device_ = 0;
  bool owned_ = false;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace pactrain::gpu

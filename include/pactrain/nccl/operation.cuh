// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/cuda/error.hpp>
#include <pactrain/cuda/executor.cuh>
#include <pactrain/cuda/temporaries.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace pactrain::nccl {

/// A CUDA event. Neither moved nor copied.
class Event {
 public:
  Event() {
    gpu::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { static_cast<void>(cudaEventDestroy(event_)); }

  /// Marks what is queued on a stream by now.
  void record(cudaStream_t stream) {
    gpu::check(cudaEventRecord(event_, stream), "cudaEventRecord");
  }
  /// Makes a stream wait, not the host. An event that was never recorded is not waited for.
  void hold(cudaStream_t stream) const {
    gpu::check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  /// Has what was marked been done?
  [[nodiscard]] bool passed() const {
    const cudaError_t code = cudaEventQuery(event_);
    if (code == cudaErrorNotReady) return false;
    gpu::check(code, "cudaEventQuery");
    return true;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// A collective on the communicator's own stream: its staging, where the result stays until it is
/// known to be good, and its events.
struct Operation {
  const char* name = "";
  bool idle = true;
  gpu::Kept<CudaSystem> result, received;
  Event ready;      ///< what the executor had queued before
  Event done;       ///< the result stands in the staging
  Event delivered;  ///< the staging may be used again
};

/// An operation under way, and where its result goes. Must be finished, or the communicator
/// aborted, before the memory it reads and writes is freed.
class Request {
 public:
  Request() = default;
  template <class T>
  Request(Operation& operation, cudaStream_t stream, std::span<const T> result, std::span<T> out)
      : operation_(&operation),
        stream_(stream),
        result_(result.data()),
        out_(out.data()),
        bytes_(out.size_bytes()) {
    operation.idle = false;
  }
  Request(Request&& other) noexcept { *this = std::move(other); }
  Request& operator=(Request&& other) noexcept {
    operation_ = std::exchange(other.operation_, nullptr);
    stream_ = other.stream_;
    result_ = other.result_;
    out_ = other.out_;
    bytes_ = other.bytes_;
    return *this;
  }

  [[nodiscard]] bool finished() const noexcept { return operation_ == nullptr; }
  [[nodiscard]] const char* name() const noexcept { return operation_->name; }
  /// Has the executor's stream copy the result out, if it stands. Precondition: not finished.
  bool deliver() {
    if (!operation_->done.passed()) return false;
    if (bytes_ > 0) {
      gpu::check(cudaMemcpyAsync(out_, result_, bytes_, cudaMemcpyDeviceToDevice, stream_),
                 "cudaMemcpyAsync");
    }
    operation_->delivered.record(stream_);
    std::exchange(operation_, nullptr)->idle = true;
    return true;
  }

 private:
  Operation* operation_ = nullptr;  ///< null when finished
  cudaStream_t stream_ = nullptr;   ///< the executor's
  const void* result_ = nullptr;
  void* out_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The operations of a communicator, under way and idle.
class Operations {
 public:
  Operation& idle() {
    for (const auto& operation : operations_) {
      if (operation->idle) return *operation;
    }
    return *operations_.emplace_back(std::make_unique<Operation>());
  }

 private:
  std::vector<std::unique_ptr<Operation>> operations_;
};

}  // namespace pactrain::nccl

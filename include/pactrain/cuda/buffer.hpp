// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/cuda/error.hpp>
#include <pactrain/cuda/queue.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace pactrain {

/// An owning, move-only array in a device's memory, unset, aligned to 256 bytes. It is allocated
/// and freed in the order of a stream, so nothing waits; the stream must outlive it.
template <class T>
class CudaBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  CudaBuffer(std::shared_ptr<const gpu::Queue> queue, std::size_t n)
      : queue_(std::move(queue)), size_(n) {
    const gpu::OnDevice here(queue_->device());
    void* memory = nullptr;
    gpu::check(cudaMallocFromPoolAsync(&memory, std::max<std::size_t>(n * sizeof(T), 1),
                                       queue_->pool(), queue_->stream()),
               "cudaMallocFromPoolAsync");
    data_ = static_cast<T*>(memory);
  }
  CudaBuffer(CudaBuffer&& other) noexcept
      : queue_(std::move(other.queue_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  CudaBuffer& operator=(CudaBuffer&& other) noexcept {
    std::swap(queue_, other.queue_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~CudaBuffer() {
    if (data_ == nullptr) return;
    try {
      const gpu::OnDevice here(queue_->device());
      static_cast<void>(cudaFreeAsync(data_, queue_->stream()));
    } catch (const BackendError&) {  // the device is lost, and its memory with it
    }
  }

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::shared_ptr<const gpu::Queue> queue_;
  T* data_ = nullptr;
  std::size_t size_;
};

/// An owning, move-only array in host memory that devices copy from and to without staging.
template <class T>
class PinnedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit PinnedBuffer(std::size_t n) : size_(n) {
    void* memory = nullptr;
    gpu::check(
        cudaHostAlloc(&memory, std::max<std::size_t>(n * sizeof(T), 1), cudaHostAllocPortable),
        "cudaHostAlloc");
    data_ = static_cast<T*>(memory);
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PinnedBuffer() {
    if (data_ != nullptr) static_cast<void>(cudaFreeHost(data_));
  }

  [[nodiscard]] T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

}  // namespace pactrain

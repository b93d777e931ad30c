// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/memory_space.hpp>
#include <pactrain/cuda/buffer.hpp>
#include <pactrain/cuda/error.hpp>
#include <pactrain/cuda/queue.hpp>
#include <pactrain/cuda/team.hpp>

#include <cuda_runtime_api.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace pactrain {

namespace gpu {

/// Runs a piece of work on each of `teams` teams of F::lanes threads, `together` teams a block.
template <unsigned together, class F>
[[gnu::visibility("hidden")]] __global__ void __launch_bounds__(together* F::lanes)
    run_teams(std::size_t teams, F f) {
  using Shared = typename F::Shared;
  __shared__ alignas(16) std::byte shared[together * sizeof(Shared)];
  const unsigned team = threadIdx.x / F::lanes;
  const std::size_t index = std::size_t{blockIdx.x} * together + team;
  if (index < teams) {
    f(Team<F::lanes>{}, index, reinterpret_cast<Shared*>(shared)[team]);
  }
}

}  // namespace gpu

/// Thrust's CUDA system on one stream. Everything is queued there, in order; only `fence` waits.
class CudaSystem {
 public:
  using memory_space = DeviceSpace;

  /// A stream of its own on the current device, which waits for the legacy default stream.
  CudaSystem() : CudaSystem(std::make_shared<const gpu::Queue>()) {}
  /// The caller's stream, on the current device.
  explicit CudaSystem(cudaStream_t stream)
      : CudaSystem(std::make_shared<const gpu::Queue>(stream)) {}
  explicit CudaSystem(std::shared_ptr<const gpu::Queue> queue) : queue_(std::move(queue)) {}

  [[nodiscard]] const gpu::Queue& queue() const noexcept { return *queue_; }

  template <class T>
  [[nodiscard]] CudaBuffer<T> make_buffer(std::size_t n) {
    return CudaBuffer<T>(queue_, n);
  }
  template <class Allocator>
  [[nodiscard]] auto policy(Allocator& temporaries) const {
    return thrust::cuda::par_nosync(temporaries).on(queue_->stream());
  }
  /// Calls `f`, which launches kernels, on the right device; what goes wrong is a `BackendError`.
  template <class F>
  void run(const char* what, F f) {
    const gpu::OnDevice here(queue_->device());
    try {
      f();
    } catch (const thrust::system_error& error) {
      throw BackendError(std::string("pactrain: ") + what + " failed with code " +
                         std::to_string(error.code().value()) + " (" + error.what() + ")");
    }
    gpu::check(cudaGetLastError(), what);
  }
  template <class Policy, class F>
  void for_teams(const Policy&, std::size_t teams, F f) {
    constexpr unsigned together = 256 / F::lanes;
    const std::size_t blocks = (teams - 1) / together + 1;
    gpu::run_teams<together><<<static_cast<unsigned>(blocks), 256, 0, queue_->stream()>>>(teams, f);
  }
  void copy(const void* from, void* to, std::size_t bytes) {
    const gpu::OnDevice here(queue_->device());
    gpu::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, queue_->stream()),
               "cudaMemcpyAsync");
  }
  void fence() {
    const gpu::OnDevice here(queue_->device());
    gpu::check(cudaStreamSynchronize(queue_->stream()), "cudaStreamSynchronize");
  }

 private:
  std::shared_ptr<const gpu::Queue> queue_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>

#include <cuda_runtime_api.h>

#include <string>

namespace pactrain::gpu {

/// Throws `BackendError` with the call, the code and CUDA's text unless `code` is success. An error
/// that a kernel ran into is reported by whichever call comes next.
inline void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  throw BackendError(std::string("pactrain: ") + call + " failed with code " +
                     std::to_string(static_cast<int>(code)) + " (" + cudaGetErrorName(code) + ": " +
                     cudaGetErrorString(code) + ")");
}

/// Makes a device the calling thread's current one for its lifetime.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (device == before_) return;
    check(cudaSetDevice(device), "cudaSetDevice");
    changed_ = true;
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (changed_) static_cast<void>(cudaSetDevice(before_));
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace pactrain::gpu

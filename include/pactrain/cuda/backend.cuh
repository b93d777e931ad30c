// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/core/host_staged.hpp>
#include <pactrain/cuda/executor.cuh>
#include <pactrain/cuda/pinned.hpp>
#include <pactrain/cuda/values.hpp>

#include <utility>

namespace pactrain {

/// Kernels run on a GPU, ranks communicate by `C`, which reaches host memory only, through pinned
/// buffers: for clusters without NCCL, and for several ranks on one GPU.
template <class C>
class CudaBackendOver : public BackendPair<CudaExecutor, HostStaged<C, PinnedHostExecutor>> {
 public:
  explicit CudaBackendOver(C comm, CudaExecutor exec = CudaExecutor{})
      : BackendPair<CudaExecutor, HostStaged<C, PinnedHostExecutor>>(
            std::move(exec), HostStaged<C, PinnedHostExecutor>(std::move(comm))) {}
};

}  // namespace pactrain

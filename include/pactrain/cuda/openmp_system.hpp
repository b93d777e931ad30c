// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/cuda/serial_system.hpp>

#include <thrust/system/omp/execution_policy.h>

namespace pactrain {

/// Thrust's OpenMP system: kernels run on OpenMP's threads.
class OpenMpSystem : public gpu::HostSystem {
 public:
  template <class Allocator>
  [[nodiscard]] auto policy(Allocator& temporaries) const {
    return thrust::omp::par(temporaries);
  }
};

}  // namespace pactrain

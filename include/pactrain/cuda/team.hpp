// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>

#include <nv/target>

#include <cstddef>
#include <cstdint>

namespace pactrain::gpu {

/// Lanes that work on one piece, in steps that all of them finish before the next one begins. On a
/// device they are the threads of a warp or of a block; on the host one thread takes the place of
/// all, so that what teams do is tested where there is no device. What lanes tell each other lies
/// in memory that they share.
template <unsigned lane_count>
struct Team {
  static constexpr unsigned lanes = lane_count;

  /// One step: `f(lane)` for every lane.
  template <class F>
  PACTRAIN_FN void each(F f) const {
    NV_IF_ELSE_TARGET(
        NV_IS_DEVICE,
        (f(threadIdx.x % lanes); if constexpr (lanes == 32) __syncwarp(); else __syncthreads();),
        (for (unsigned lane = 0; lane < lanes; ++lane) f(lane);))
  }
  /// Sets a flag that other teams may set at the same time.
  PACTRAIN_FN void raise(std::uint32_t* flag) const {
    NV_IF_ELSE_TARGET(NV_IS_DEVICE, (atomicExch(flag, 1u);),
                      (__atomic_store_n(flag, 1u, __ATOMIC_RELAXED);))
  }
  /// Adds one to a counter that the team's lanes share.
  PACTRAIN_FN void count(std::uint32_t* counter) const {
    NV_IF_ELSE_TARGET(NV_IS_DEVICE, (atomicAdd(counter, 1u);), (++*counter;))
  }
  /// Adds to a counter that all teams share.
  PACTRAIN_FN void add(unsigned long long* counter, unsigned long long n) const {
    NV_IF_ELSE_TARGET(NV_IS_DEVICE, (atomicAdd(counter, n);),
                      (__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);))
  }
};

}  // namespace pactrain::gpu

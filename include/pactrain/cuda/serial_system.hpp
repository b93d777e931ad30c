// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/memory_space.hpp>
#include <pactrain/cuda/team.hpp>
#include <pactrain/host/buffer.hpp>

#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cpp/execution_policy.h>

#include <cstddef>
#include <cstring>

namespace pactrain::gpu {

/// Lets one thread take the place of a team.
template <class F>
struct RunTeam {
  F f;
  void operator()(std::size_t index) const {
    typename F::Shared shared;
    f(Team<F::lanes>{}, index, shared);
  }
};

/// What Thrust's systems on the host have in common.
class HostSystem {
 public:
  using memory_space = HostSpace;

  template <class T>
  [[nodiscard]] HostBuffer<T> make_buffer(std::size_t n) {
    return HostBuffer<T>(n);
  }
  template <class F>
  void run(const char*, F f) {
    f();
  }
  template <class F, class Policy>
  void for_teams(const Policy& policy, std::size_t teams, F f) {
    thrust::for_each_n(policy, thrust::counting_iterator<std::size_t>(0), teams, RunTeam<F>{f});
  }
  void copy(const void* from, void* to, std::size_t bytes) { std::memmove(to, from, bytes); }
  void fence() {}
};

}  // namespace pactrain::gpu

namespace pactrain {

/// Thrust's serial system: kernels run on the calling thread.
class SerialSystem : public gpu::HostSystem {
 public:
  template <class Allocator>
  [[nodiscard]] auto policy(Allocator& temporaries) const {
    return thrust::cpp::par(temporaries);
  }
};

}  // namespace pactrain

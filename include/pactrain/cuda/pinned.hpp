// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/cuda/buffer.hpp>
#include <pactrain/host/executor.hpp>

#include <cstddef>

namespace pactrain {

/// The host's executor with pinned buffers, which devices copy from and to at full speed: the
/// staging of `HostStaged<C, PinnedHostExecutor>`.
class PinnedHostExecutor : public HostExecutor {
 public:
  template <class T>
  [[nodiscard]] PinnedBuffer<T> make_buffer(std::size_t n) {
    return PinnedBuffer<T>(n);
  }
};

static_assert(Executor<PinnedHostExecutor>);

}  // namespace pactrain

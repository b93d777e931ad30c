// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/plain_executor.hpp>

#include <pactrain/core/executor.hpp>
#include <pactrain/core/memory_space.hpp>
#include <pactrain/host/buffer.hpp>

#include <cstddef>

namespace pactrain::test {

/// Memory that stands for a device's: a type of its own, and no communicator of the host takes it.
template <class T>
class FakeDeviceBuffer {
 public:
  explicit FakeDeviceBuffer(std::size_t n) : memory_(n) {}
  [[nodiscard]] T* data() const noexcept { return memory_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return memory_.size(); }

 private:
  HostBuffer<T> memory_;
};

/// A device without a device: what works here by `read` and `write` alone works on a real one.
class FakeDeviceExecutor : public PlainExecutor {
 public:
  using memory_space = DeviceSpace;

  template <class T>
  [[nodiscard]] FakeDeviceBuffer<T> make_buffer(std::size_t n) {
    return FakeDeviceBuffer<T>(n);
  }
};

static_assert(Executor<FakeDeviceExecutor>);

}  // namespace pactrain::test

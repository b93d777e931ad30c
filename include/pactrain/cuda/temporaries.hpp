// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace pactrain::gpu {

template <class System, class T>
using system_buffer = decltype(std::declval<System&>().template make_buffer<T>(std::size_t{}));

/// Memory of a system's that grows when more is asked for: what `Scratch` is to an executor.
template <class System>
class Kept {
 public:
  /// `n` values whose contents are unspecified.
  template <class T>
  std::span<T> take(System& system, std::size_t n) {
    if (!buffer_ || buffer_->size() < n * sizeof(T)) {
      buffer_.reset();
      buffer_.emplace(system.template make_buffer<std::byte>(n * sizeof(T)));
    }
    return {reinterpret_cast<T*>(buffer_->data()), n};
  }

 private:
  std::optional<system_buffer<System, std::byte>> buffer_;
};

/// An allocator for Thrust's temporaries that keeps what is given back: equal calls allocate in
/// their first round only. Its memory serves one queue, so a block may be given out again at once.
template <class System>
class Temporaries {
 public:
  using value_type = char;

  explicit Temporaries(System& system) : system_(&system) {}

  [[nodiscard]] char* allocate(std::ptrdiff_t n) {
    const auto bytes = static_cast<std::size_t>(n);
    Block* best = nullptr;
    for (Block& block : blocks_) {
      const bool fits = block.idle && block.memory.size() >= bytes;
      if (fits && (best == nullptr || block.memory.size() < best->memory.size())) best = &block;
    }
    if (best == nullptr) {
      best = &blocks_.emplace_back(Block{system_->template make_buffer<char>(bytes), false});
    }
    best->idle = false;
    return best->memory.data();
  }
  void deallocate(char* memory, std::size_t) noexcept {
    for (Block& block : blocks_) block.idle |= block.memory.data() == memory;
  }

 private:
  struct Block {
    system_buffer<System, char> memory;
    bool idle;
  };
  System* system_;
  std::vector<Block> blocks_;
};

}  // namespace pactrain::gpu

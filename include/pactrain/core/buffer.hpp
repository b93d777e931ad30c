// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/executor.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>

namespace pactrain {

/// Memory of an executor that grows when more is asked for and is kept between uses, so that a
/// loop of equal calls allocates in its first round only.
template <Executor E>
class Scratch {
 public:
  /// `n` values whose contents are unspecified. Earlier spans are invalid if it had to grow.
  template <class T>
  std::span<T> take(E& exec, std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!buffer_ || buffer_->size() < n * sizeof(T)) {
      buffer_.reset();
      buffer_.emplace(exec.template make_buffer<std::byte>(n * sizeof(T)));
    }
    return view<T>(n);
  }

  /// `n` values of which the first `kept` are as they were.
  template <class T>
  std::span<T> extend(E& exec, std::size_t kept, std::size_t n) {
    if (!buffer_ || buffer_->size() < n * sizeof(T)) {
      auto larger = exec.template make_buffer<std::byte>(n * sizeof(T));
      if (kept > 0) {
        exec.copy(std::span<const std::byte>(buffer_->data(), kept * sizeof(T)),
                  std::span<std::byte>(larger.data(), kept * sizeof(T)));
        exec.fence();
      }
      buffer_.emplace(std::move(larger));
    }
    return view<T>(n);
  }

  /// The first `n` values as last written. Precondition: as many were taken.
  template <class T>
  [[nodiscard]] std::span<T> view(std::size_t n) const {
    return {buffer_ ? reinterpret_cast<T*>(buffer_->data()) : nullptr, n};
  }

  /// Bytes held.
  [[nodiscard]] std::size_t bytes() const noexcept { return buffer_ ? buffer_->size() : 0; }

 private:
  mutable std::optional<buffer_t<E, std::byte>> buffer_;
};

/// A span's elements as read-only ones.
template <class T>
constexpr std::span<const T> as_const_span(std::span<T> values) noexcept {
  return values;
}

}  // namespace pactrain

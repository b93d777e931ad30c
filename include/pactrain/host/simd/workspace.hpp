// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace pactrain::simd {

/// Memory that a selection keeps between calls: it grows to the largest call and is then reused.
class Workspace {
 public:
  /// Room for `n` values that are not initialised; what was taken before is gone.
  template <class T>
  T* take(std::size_t n) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignof(std::max_align_t),
                  "a workspace holds plain values");
    if (n * sizeof(T) > bytes_) {
      bytes_ = 0;
      memory_.reset();  // both at once might not fit
      memory_ = std::make_unique_for_overwrite<std::byte[]>(n * sizeof(T));
      bytes_ = n * sizeof(T);
    }
    return reinterpret_cast<T*>(memory_.get());
  }

  /// The bytes held.
  std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace pactrain::simd

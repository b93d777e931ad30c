// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace pactrain {

/// An owning, move-only array in the memory of a Kokkos execution space, unset, aligned to 64
/// bytes. It is a View underneath, so a profiler sees it as "pactrain"; as any View, it must be
/// destroyed before Kokkos::finalize.
template <class T, class Space>
class KokkosBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  KokkosBuffer(const Space& space, std::size_t n)
      : bytes_(Kokkos::view_alloc(space, Kokkos::WithoutInitializing, std::string("pactrain")),
               n * sizeof(T)),
        size_(n) {}
  KokkosBuffer(KokkosBuffer&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), size_(std::exchange(other.size_, 0)) {}
  KokkosBuffer& operator=(KokkosBuffer&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }

  [[nodiscard]] T* data() const noexcept { return reinterpret_cast<T*>(bytes_.data()); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  Kokkos::View<unsigned char*, typename Space::memory_space> bytes_;
  std::size_t size_;
};

}  // namespace pactrain

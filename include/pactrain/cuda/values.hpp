// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/slices.hpp>
#include <pactrain/core/value_type.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/device_vector.h>

#include <cstddef>
#include <span>
#include <type_traits>

namespace pactrain {

namespace gpu {

template <class T>
struct value_of {
  using type = T;
};
template <>
struct value_of<__half> {
  using type = float16;
};
template <>
struct value_of<__nv_bfloat16> {
  using type = bfloat16;
};
template <class T>
struct value_of<const T> {
  using type = const typename value_of<T>::type;
};

/// Values of CUDA's half types as those of this library, which have the same bits.
template <class T>
[[nodiscard]] auto span_of(T* x, std::size_t n) {
  using Value = typename value_of<T>::type;
  static_assert(sizeof(Value) == sizeof(T));
  return std::span<Value>(reinterpret_cast<Value*>(x), n);
}

}  // namespace gpu

/// Vectors of Thrust's on a device are seen as spans of device memory.
template <class T, class Allocator>
struct SpanOf<thrust::device_vector<T, Allocator>> {
  [[nodiscard]] static auto span(thrust::device_vector<T, Allocator>& x) {
    return gpu::span_of(thrust::raw_pointer_cast(x.data()), x.size());
  }
  [[nodiscard]] static auto span(const thrust::device_vector<T, Allocator>& x) {
    return gpu::span_of(thrust::raw_pointer_cast(x.data()), x.size());
  }
};

/// Spans of `__half` and `__nv_bfloat16`, constant or not, are seen as spans of `float16` and
/// `bfloat16`.
template <class T, std::size_t extent>
  requires(!std::is_same_v<T, typename gpu::value_of<T>::type>)
struct SpanOf<std::span<T, extent>> {
  [[nodiscard]] static auto span(std::span<T, extent> x) {
    return gpu::span_of(x.data(), x.size());
  }
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/executor.hpp>
#include <pactrain/core/memory_space.hpp>
#include <pactrain/core/stage_recorder.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/host/buffer.hpp>
#include <pactrain/host/fast_forms.hpp>
#include <pactrain/host/simd.hpp>
#include <pactrain/kernel/bits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace pactrain {

/// Runs kernels as loops on the calling thread; nothing is queued, `fence` returns at once. Bit
/// masks are packed and unpacked, magnitudes ranked, and floats encoded by the processor's vectors.
/// `record(&trace)` writes the stages of calls into a trace.
class HostExecutor : public StageRecorder {
 public:
  using memory_space = HostSpace;

  template <class T>
  [[nodiscard]] HostBuffer<T> make_buffer(std::size_t n) {
    return HostBuffer<T>(n);
  }
  template <class F>
  void for_each(std::size_t n, F f) {
    for (std::size_t i = 0; i < n; ++i) f(i);
  }
  template <class T, class Load, class Combine>
  void reduce(std::size_t n, T init, Load load, Combine combine, std::span<T, 1> out) {
    for (std::size_t i = 0; i < n; ++i) init = combine(init, load(i));
    out[0] = init;
  }
  template <class Load>
  void scan(std::size_t n, Load load, std::span<std::size_t> before,
            std::span<std::size_t, 1> total) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t value = load(i);
      before[i] = sum;
      sum += value;
    }
    total[0] = sum;
  }
  template <class T>
  void copy(std::span<const T> from, std::span<T> to) {
    if (!from.empty()) std::memmove(to.data(), from.data(), from.size_bytes());
  }
  template <class T>
  void read(std::span<const T> from, std::span<T> to) {
    copy(from, to);
  }
  template <class T>
  void write(std::span<const T> from, std::span<T> to) {
    copy(from, to);
  }
  void fence() {}

  /// The values of `dense`, which begins at position `first`, that `bits` keeps go to their slots;
  /// `packed` holds slot `base` first. Where asked, `*non_finite` becomes 1 if any value, kept or
  /// not, is an infinity or a NaN.
  template <class T>
  void compress(kernel::Bits bits, std::size_t first, std::span<const T> dense, T* packed,
                std::size_t base, std::uint32_t* non_finite) {
    if (dense.empty()) return;
    bool found = false;
    simd::compress(bits.words, first, dense.size(), dense.data(),
                   packed + (bits.slot(first) - base), non_finite ? &found : nullptr);
    if (found) *non_finite = 1;
  }
  /// The reverse, with zeros at the positions that `bits` does not keep.
  template <class T>
  void expand(kernel::Bits bits, std::size_t first, const T* packed, std::size_t base,
              std::span<T> dense) {
    if (dense.empty()) return;
    simd::expand(bits.words, first, dense.size(), packed + (bits.slot(first) - base), dense.data());
  }
  /// `*stray` becomes 1 if a value that `bits` does not keep differs from zero.
  template <class T>
  void find_stray(kernel::Bits bits, std::size_t first, std::span<const T> dense,
                  std::uint32_t* stray) {
    if (simd::any_stray(bits.words, first, dense.size(), dense.data())) *stray = 1;
  }
  /// `*non_finite` becomes 1 if a value is an infinity or a NaN.
  template <class T>
  void find_non_finite(std::span<const T> values, std::uint32_t* non_finite) {
    if (!simd::all_finite(values.data(), values.size())) *non_finite = 1;
  }
  /// Kernels of codecs and of choices, by vector units.
  template <simd::HasFastForm F>
  using fast_form = simd::FastForm<F>;
  /// The k-th largest magnitude of the spans together, and how many lie above it.
  template <class T>
  simd::Bar<T> kth_largest(std::span<const std::span<const T>> parts, std::size_t k) {
    return simd::kth_largest(parts, k, workspace_);
  }

 private:
  simd::Workspace workspace_;
};

static_assert(Executor<HostExecutor>);

}  // namespace pactrain

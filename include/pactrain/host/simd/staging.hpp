// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/host/simd/memory.hpp>

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pactrain::simd {

/// A few KiB in the first-level cache through which a kernel writes its output in order.
/// Kernels may store whole vectors of which only the first lanes count: past the output's end
/// nothing is written. The part of a long output that the caches would not keep is streamed.
class Staging {
 public:
  /// The most bytes that may be written between two calls of `make_room()`.
  static constexpr std::size_t slack = 2048 + line_bytes;

  explicit Staging(void* out)
      : out_(static_cast<std::byte*>(out)),
        // Lines of the staging area match lines of the output, so that whole lines can be streamed.
        start_(stage_ + reinterpret_cast<std::uintptr_t>(out) % line_bytes),
        cursor_(start_) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Where the next bytes go.
  [[gnu::always_inline]] std::byte* cursor() const { return cursor_; }

  /// Says how far the output reaches now, and hands whole lines on if the staging area is full.
  [[gnu::always_inline]] void advance_to(std::byte* cursor) {
    cursor_ = cursor;
    if (cursor_ >= stage_ + capacity) drain();
  }

  /// Hands on what is left.
  void finish() {
    if (cursor_ != start_) copy(static_cast<std::size_t>(cursor_ - start_));
    if (written_ >= streamed_bytes) _mm_sfence();
  }

 private:
  static constexpr std::size_t capacity = 4096;

  [[gnu::noinline]] void drain() {
    const std::size_t whole = static_cast<std::size_t>(cursor_ - stage_) / line_bytes * line_bytes;
    std::byte* end = stage_ + whole;
    if (start_ != stage_) copy(static_cast<std::size_t>(stage_ + line_bytes - start_));
    if (written_ < streamed_bytes) copy(static_cast<std::size_t>(end - start_));
    else stream(end);
    std::memcpy(stage_, end, line_bytes);
    cursor_ -= whole;
    start_ = stage_;
  }

  void copy(std::size_t bytes) {
    std::memcpy(out_, start_, bytes);
    out_ += bytes;
    start_ += bytes;
    written_ += bytes;
  }

  void stream(const std::byte* end) {
    written_ += static_cast<std::size_t>(end - start_);
    for (; start_ != end; start_ += sizeof(__m128i), out_ += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(out_),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(start_)));
    }
  }

  alignas(line_bytes) std::byte stage_[capacity + 2 * slack];
  std::byte* out_;
  std::byte* start_;
  std::byte* cursor_;
  std::size_t written_ = 0;
};

}  // namespace pactrain::simd

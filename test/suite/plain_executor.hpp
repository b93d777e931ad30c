// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/executor.hpp>
#include <pactrain/core/memory_space.hpp>
#include <pactrain/host/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace pactrain::test {

/// The least an executor may be: no fast path, and every order that the concept leaves open is an
/// unusual one. What gives the same answer here and on another executor depends on neither.
class PlainExecutor {
 public:
  using memory_space = HostSpace;

  template <class T>
  [[nodiscard]] HostBuffer<T> make_buffer(std::size_t n) {
    return HostBuffer<T>(n);
  }
  template <class F>
  void for_each(std::size_t n, F f) {
    for (std::size_t i = n; i-- > 0;) f(i);
  }
  /// Pairs from both ends first.
  template <class T, class Load, class Combine>
  void reduce(std::size_t n, T init, Load load, Combine combine, std::span<T, 1> out) {
    T result = n % 2 != 0 ? combine(load(n / 2), init) : init;
    for (std::size_t i = 0; i < n / 2; ++i) {
      result = combine(combine(load(n - 1 - i), load(i)), result);
    }
    out[0] = result;
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
};

static_assert(Executor<PlainExecutor>);

}  // namespace pactrain::test

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/core/executor.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace pactrain::test {

/// A wait long enough for a busy machine, short enough to be told of a hang.
inline constexpr std::chrono::seconds patience{60};

/// All that a backend supplies to the suites.
///
/// - `ranks()`: the numbers of ranks that `run` can make here.
/// - `run(ranks, body, timeout)`: `body(backend)` on each rank, its own backend, with that timeout.
///   What a rank throws comes out where that rank was started.
/// - `rank()`: the rank of this process, 0 where ranks are threads.
/// - `blind`, where it is there: the transport knows neither whom it waits for nor others' sizes.
/// - `shared_fate`: does a rank that fails, or leaves, make the others' waits fail at once?
template <class W>
concept World =
    Backend<typename W::backend_type> && requires(void (*body)(typename W::backend_type&)) {
      { W::ranks() } -> std::same_as<std::vector<int>>;
      W::run(1, body, std::chrono::milliseconds(1));
      { W::rank() } -> std::same_as<int>;
      { W::shared_fate } -> std::convertible_to<bool>;
    };

/// `body(backend)` on every number of ranks.
template <World W, class Body>
void on_each(Body body, std::chrono::milliseconds timeout = patience) {
  for (const int ranks : W::ranks()) W::run(ranks, body, timeout);
}

/// A vector in an executor's memory, `offset` elements behind an aligned address.
template <class T, Executor E>
class Array {
 public:
  Array(E& exec, std::span<const T> values, std::size_t offset = 0)
      : exec_(exec),
        buffer_(exec.template make_buffer<T>(values.size() + offset)),
        span_(buffer_.data() + offset, values.size()) {
    exec.write(values, span_);
  }
  Array(E& exec, std::size_t n, T value = T{}) : Array(exec, std::vector<T>(n, value)) {}

  [[nodiscard]] std::span<T> span() const { return span_; }
  [[nodiscard]] std::span<const T> view() const { return span_; }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> values(span_.size());
    exec_.read(view(), std::span<T>(values));
    return values;
  }

 private:
  E& exec_;
  buffer_t<E, T> buffer_;
  std::span<T> span_;
};

}  // namespace pactrain::test

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

namespace kernel {
/// sums[unit] = the sum of `length` entries, in index order.
template <class T>
struct SumUnit {
  const T* x;
  std::size_t n, length;
  double* sums;
  PACTRAIN_FN void operator()(std::size_t unit) const {
    const std::size_t end = (unit + 1) * length < n ? (unit + 1) * length : n;
    double sum = 0;
    for (std::size_t i = unit * length; i < end; ++i) {
      sum += static_cast<double>(cast<arithmetic_t<T>>(x[i]));
    }
    sums[unit] = sum;
  }
};
}  // namespace kernel

/// The sum of values in double, in an order that depends on their number alone. Waits.
template <Executor E, GradientValue T>
[[nodiscard]] double ordered_sum(E& exec, std::span<const T> values, Scratch<E>& scratch) {
  constexpr std::size_t length = 1024;
  std::vector<double> host((values.size() + length - 1) / length);
  const auto sums = scratch.template take<double>(exec, host.size());
  exec.for_each(host.size(), kernel::SumUnit<T>{values.data(), values.size(), length, sums.data()});
  exec.read(as_const_span(sums), std::span(host));
  double sum = 0;
  for (const double each : host) sum += each;
  return sum;
}

}  // namespace pactrain

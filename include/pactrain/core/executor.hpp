// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/memory_space.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

namespace pactrain {

/// The weakest callables that every executor and mask must accept. Declared, never defined.
namespace archetype {
struct Visit {
  PACTRAIN_FN void operator()(std::size_t index) const;
};
struct Slot {
  PACTRAIN_FN void operator()(std::size_t slot, std::size_t index) const;
};
struct Keep {
  PACTRAIN_FN bool operator()(std::size_t index) const;
};
struct Count {
  PACTRAIN_FN std::size_t operator()(std::size_t index) const;
};
struct Load {
  PACTRAIN_FN double operator()(std::size_t index) const;
};
struct Combine {
  PACTRAIN_FN double operator()(double a, double b) const;
};
}  // namespace archetype

/// Runs kernels in order on one queue: three patterns, copies and a fence; nothing else is
/// portable. It knows no rank, no mask and no gradient.
///
/// - `make_buffer<T>(n)`: an owning, move-only buffer of `n` unset values, aligned to 64 bytes.
/// - `for_each(n, f)`: `f(i)` for every `i < n`, in any order.
/// - `reduce(n, init, load, combine, out)`: `out[0]` becomes all `load(i)` and `init` combined.
///   The order is unspecified, so `combine` must be exactly associative and commutative
///   (integer sums, maxima, bitwise or): then every executor gives the same bits.
/// - `scan(n, load, before, total)`: `before[i]` becomes the sum of all earlier `load`s.
/// - `copy(from, to)`: within the executor's memory, on its queue.
/// - `read(from, to)`, `write(from, to)`: to and from host memory; both return when done.
/// - `fence()`: returns when everything queued has run.
///
/// Results of `reduce` and `scan` stay in the executor's memory; only `read` and `fence` wait.
/// Optional fast paths are further members (`compress`, `expand`, `kth_largest`, `all_finite`),
/// detected where they are wanted, and `fast_form<F>`: see `for_each_fast` and `reduce_fast`.
template <class E>
concept Executor =
    MemorySpace<typename E::memory_space> &&
    requires(E& exec, std::size_t n, std::span<std::size_t> before, std::span<std::size_t, 1> total,
             std::span<double, 1> out, std::span<const double> from, std::span<double> to) {
      { exec.template make_buffer<float>(n).data() } -> std::same_as<float*>;
      exec.for_each(n, archetype::Visit{});
      exec.reduce(n, 0.0, archetype::Load{}, archetype::Combine{}, out);
      exec.scan(n, archetype::Count{}, before, total);
      exec.copy(from, to);
      exec.read(from, to);
      exec.write(from, to);
      exec.fence();
    };

/// The buffer type of an executor.
template <class E, class T>
using buffer_t = decltype(std::declval<E&>().template make_buffer<T>(std::size_t{}));

/// `for_each(n, f)`, by the form of `f` that is fast on this executor where it has one: a type
/// `E::fast_form<F>` made of (n, f), whose index stands for `grain` of f's. It does what `f` does,
/// bit for bit.
template <Executor E, class F>
void for_each_fast(E& exec, std::size_t n, F f) {
  if constexpr (requires { typename E::template fast_form<F>; }) {
    using Form = typename E::template fast_form<F>;
    exec.for_each((n + Form::grain - 1) / Form::grain, Form{n, f});
  } else {
    exec.for_each(n, f);
  }
}

/// `reduce`, by the form of `load` that is fast on this executor where it has one; its answer for
/// an index stands for `grain` of load's.
template <Executor E, class T, class Load, class Combine>
void reduce_fast(E& exec, std::size_t n, T init, Load load, Combine combine, std::span<T, 1> out) {
  if constexpr (requires { typename E::template fast_form<Load>; }) {
    using Form = typename E::template fast_form<Load>;
    exec.reduce((n + Form::grain - 1) / Form::grain, init, Form{n, load}, combine, out);
  } else {
    exec.reduce(n, init, load, combine, out);
  }
}

}  // namespace pactrain

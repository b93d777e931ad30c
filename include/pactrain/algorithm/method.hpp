// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// What a method is told of a call: the gradient of the whole model in pieces (none where this
/// rank's call was wrong: then it contributes nothing), and where to say what happened. `flags` are
/// words of executor memory; the one at `kernel::non_finite_flag` is raised on this rank where its
/// gradient is not finite or its call was wrong, and `exchange` leaves it raised on all ranks if it
/// was on one.
template <Executor E, class C, GradientValue T>
struct MethodCall {
  E& exec;
  C& comm;
  const Model& model;
  std::span<const Piece<T>> pieces;
  bool nothing;  ///< this rank adds zeros, whatever the pieces hold
  const ReduceOptions& options;
  Step step;
  std::span<std::uint32_t> flags;
  Report& report;

  [[nodiscard]] bool mean() const { return options.reduction == Reduction::mean; }
  /// Does somebody want to know of infinities and NaNs?
  [[nodiscard]] bool looks() const { return options.non_finite != NonFinite::ignore; }
  [[nodiscard]] std::size_t ranks() const { return static_cast<std::size_t>(comm.size()); }
};

/// How a `MethodAllReduce` makes the sum of a whole model over ranks, where that is more than a
/// codec of kept entries. Options have `fingerprint()`; `on<E>` has
/// - `on(options)`: refuses options that cannot work;
/// - `bind<A>(exec, model)`: a new run of a model whose sums are made in type A; takes no memory;
/// - `dense(step)`: are values to travel as they are in this step? The same answer on all ranks;
/// - `exchange(call)`: all collectives of the call, and what can be made of them without a change
///   of the gradient or of the state; the same on all ranks. Waits.
/// - `deliver(call)`: writes the gradient;
/// - `commit()`: the call was accepted, its state counts. A state that was not committed is as
///   before `exchange`.
/// - `save(exec, writer)`, `load(exec, reader)`, after `bind`.
template <class M, class E>
concept Method = Executor<E> && std::copyable<M> &&
                 requires(const M& options, typename M::template on<E>& method, E& exec,
                          const Model& model, Writer& writer, Reader& reader) {
                   { options.fingerprint() } -> std::same_as<std::uint64_t>;
                   requires std::constructible_from<typename M::template on<E>, const M&>;
                   method.template bind<float>(exec, model);
                   { method.dense(Step{}) } -> std::same_as<bool>;
                   method.commit();
                   method.save(exec, writer);
                   method.load(exec, reader);
                 };

}  // namespace pactrain

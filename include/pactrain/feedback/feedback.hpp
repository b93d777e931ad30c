// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

namespace archetype {
struct SeeResidual {
  template <class R>
  void operator()(std::span<R> residual) const;
};
}  // namespace archetype

namespace detail {
template <class O, class F, class E>
concept Remembers = std::constructible_from<O, const F&> &&
    requires(O& feedback, E& exec, const Model& model, Piece<const float> piece, float* out,
             Writer& writer, Reader& reader) {
  feedback.template resize<float>(exec, model);
  feedback.compensate(exec, piece, out);
  feedback.residual(exec, archetype::SeeResidual{});
  feedback.save(exec, writer);
  feedback.load(exec, reader);
} &&(
    requires(O& feedback, E& exec, Piece<const float> missed) {
      feedback.commit(exec, missed, Step{});
    } ||
    requires(O & feedback, E& exec, Piece<const float> missed) {
      feedback.commit(exec, missed, archetype::Keep{}, Step{});
    });
}  // namespace detail

/// What is REMEMBERED of what was not conveyed, by parameter: dense over the model, so that neither
/// buckets nor mask changes move it. It sees gradients and what was missed; no mask and no wire.
///
/// Options have `fingerprint()` and `active`, a constant: false if nothing is ever remembered, and
/// then nothing else is needed. Otherwise `on<E>` has
/// - `on(options)`; `resize<A>(exec, model)`: the residual of that model, zero;
/// - `compensate(exec, piece, out)`: out = gradient + residual, in `arithmetic_t` of the gradient;
/// - `commit(exec, missed, step)`: takes in what a whole parameter did not convey; or
///   `commit(exec, missed, closed, step)`, where `closed(position)` tells the entries that
///   were selected before others of their part, and those that are pruned: what they remember
///   beyond `missed` ends here. In a part that is kept whole no entry is selected before others;
/// - optionally `measure(exec, pieces)`: before a call's pieces are compensated, those of whole
///   parameters, in order (none for a rank that contributes nothing);
/// - optionally `serve(ranks)`: after construction, over how many ranks is reduced;
/// - `residual(exec, f)`: calls f(std::span<R>) with the stored residual, for clearing;
/// - `save(exec, writer)`, `load(exec, reader)`.
template <class F, class E>
concept Feedback = Executor<E> && std::copyable<F> && requires(const F& options) {
  requires std::same_as<decltype(F::active), const bool>;
  { options.fingerprint() } -> std::same_as<std::uint64_t>;
} && (!F::active || detail::Remembers<typename F::template on<E>, F, E>);

/// Nothing is remembered: what is not conveyed is lost, as far as the codec loses anything.
struct NoFeedback {
  static constexpr bool active = false;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }
};

namespace detail {
template <class F, class E>
struct feedback_on {
  struct type {
    explicit type(const F&) {}
  };
};
template <class F, class E>
  requires(F::active)
struct feedback_on<F, E> {
  using type = typename F::template on<E>;
};
}  // namespace detail

/// The state of a feedback on an executor; empty where nothing is remembered.
template <class F, class E>
using feedback_on = typename detail::feedback_on<F, E>::type;

/// The state of a feedback of these options that serves so many ranks.
template <class E, class F>
[[nodiscard]] feedback_on<F, E> feedback_for(const F& options, int ranks) {
  feedback_on<F, E> feedback(options);
  if constexpr (requires { feedback.serve(ranks); }) feedback.serve(ranks);
  return feedback;
}

}  // namespace pactrain

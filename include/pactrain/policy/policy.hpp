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
#include <type_traits>
#include <vector>

namespace pactrain {

/// May ranks answer differently about what is kept?
enum class Support {
  shared,  ///< no: all ranks answer alike, nothing is exchanged
  led,     ///< one rank's answer is broadcast (`leader(step, ranks)` says whose)
  local    ///< yes: answers are united
};

/// What becomes of gradient entries that are not kept.
enum class Unkept {
  dropped,    ///< the weight is pruned: its gradient counts as zero, and so does its residual
  remembered  ///< the entry waits: with feedback it goes to the residual
};

/// A pure question about an index, which a kernel may copy and ask in any order.
template <class F>
concept KeepPredicate = std::is_trivially_copyable_v<F> && std::predicate<const F&, std::size_t>;

/// WHICH entries are kept. A policy is an aggregate of options; its `on<E>` holds the state that
/// lives in an executor's memory. It sees gradient and weights, no mask, no wire and no ranks.
///
/// Options have
/// - `support`, `unkept`: constants;
/// - `fingerprint()`: a hash of the options, compared over ranks;
/// - optionally `weights`, of type `Values`: the reducer takes the model's layout from them, unless
///   they are empty;
/// - optionally `learned`, a constant: true if entries outside the mask must be proved zero.
///
/// `on<E>` has
/// - `on(options)`;
/// - `revision(step)`: a number that changes when `keep` would answer differently than before
///   (asked for shared policies only; others are asked to `keep` at every step);
/// - `prepare(exec, model, gradient, step)`: before `keep`. `gradient` is this rank's pieces, with
///   values for local policies, positions only for others. It may wait and may throw
///   `PreconditionError`; then nothing has changed. A step that was refused is prepared again, and
///   must then be decided as if for the first time;
/// - `keep(piece)`: a `KeepPredicate` on indices 0 ... piece.size - 1 of the piece. For local
///   policies the piece is one that was prepared; others answer for any piece of the model;
/// - optionally `gain(part)` (as `has_gain`): what packed values of a part are multiplied by. Such
///   options have `unbiased`, a bool: true where a gain may differ from 1; no feedback goes with
///   it;
/// - optionally `quality()`, a std::optional<double>: achieved over wanted number of entries of the
///   decision prepared last, for `Report`;
/// - optionally `retract()` where the decision prepared last was refused: the one before it stands;
/// - optionally `observe(exec, model, reduced, step)` after an accepted step, for policies that
///   learn from reduced gradients: parts whole, each once a step (of `learned` ones the whole model
///   in one call). It may write to them: they are the call's result. `restart()`, before it, where
///   a stray was found;
/// - optionally `save(exec, writer)` and `load(exec, model, reader)`, which throws `StateError`.
template <class P, class E>
concept PruningPolicy =
    Executor<E> && std::copyable<P> &&
    requires(const P& options, typename P::template on<E>& policy, E& exec, const Model& model,
             std::span<const Piece<const float>> pieces, Step step) {
      requires std::same_as<decltype(P::support), const Support>;
      requires std::same_as<decltype(P::unkept), const Unkept>;
      { options.fingerprint() } -> std::same_as<std::uint64_t>;
      requires std::constructible_from<typename P::template on<E>, const P&>;
      { policy.revision(step) } -> std::same_as<std::uint64_t>;
      policy.prepare(exec, model, pieces, step);
      { policy.keep(pieces[0]) } -> KeepPredicate;
    };

/// Must this policy's unkept entries be proved zero at every step?
template <class P>
inline constexpr bool is_learned = requires { requires P::learned; };

/// Does the state of a policy, an `on<E>`, say what its values are multiplied by?
template <class PolicyOn>
concept has_gain = requires(const PolicyOn& policy, std::size_t part) {
  { policy.gain(part) } -> std::same_as<double>;
};

/// Where a ranking by magnitude is made.
enum class Scope {
  per_parameter,  ///< each part keeps its own share
  global          ///< the whole model is ranked together
};

}  // namespace pactrain

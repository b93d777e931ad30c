// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/part_moments.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/feedback/feedback.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace pactrain {

namespace kernel {

/// The momentum that a step would leave, and what it would send.
template <class T, class A>
struct Accelerate {
  const T* gradient;
  A scale, momentum;
  bool nesterov;
  const A* velocity;
  const A* residual;
  A* next;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const A g = cast<A>(gradient[i]) * scale;
    next[i] = nesterov ? momentum * (velocity[i] + g) : momentum * velocity[i] + g;
    out[i] = residual[i] + (nesterov ? next[i] + g : next[i]);
  }
};

/// The residual becomes what was missed, the momentum the next one, or zero where the entry's
/// account is closed; both stay where what was missed is not finite.
template <class A, class Closed>
struct Settle {
  const A* missed;
  Closed closed;
  std::size_t first;
  const A* next;
  A* velocity;
  A* residual;
  PACTRAIN_FN void operator()(std::size_t i) const {
    if (!is_finite(missed[i])) return;
    residual[i] = missed[i];
    velocity[i] = closed(first + i) ? A(0) : next[i];
  }
};

}  // namespace kernel

/// Momentum that is gathered where the gradient is, before anything is selected: the momentum
/// correction of Deep Gradient Compression (Lin et al., ICLR 2018, arXiv 1712.01887, section 3).
///
///     u = m u + g,  v = v + u;  what is selected of v is sent,  and both are zero there
///
/// (Nesterov: u = m (u + g), v = v + u + g, as in the authors' code.) Clearing u is the paper's
/// momentum factor masking: what was late is not pushed on by an old momentum as well. Where a
/// parameter is kept whole, and where a policy prunes, nothing was selected before others: such
/// entries have ordinary momentum, the mean over ranks of which is the momentum of the mean; pruned
/// ones have none. The optimizer behind must add no momentum of its own.
///
/// `clip`: a rank's gradient of a parameter is scaled down to a norm of clip / sqrt(ranks), before
/// it enters the sum; norms are summed in double and in a fixed order. (The paper clips the whole
/// gradient; by parameter, as in the code, it does not depend on which parameters are reduced
/// together.) The law: sum of what was conveyed + v = sum of the momenta u that were added.
struct MomentumFeedback {
  static constexpr bool active = true;
  static constexpr bool masks = true;  ///< wants to know what was selected
  double momentum = 0.9;               ///< m, in [0, 1)
  bool nesterov = false;
  double clip = 0;  ///< the largest norm of a parameter's mean gradient; 0: none

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}('M')(momentum)(nesterov)(clip).value();
  }

  template <Executor E>
  class on;
};

template <Executor E>
class MomentumFeedback::on {
 public:
  explicit on(const MomentumFeedback& options) : options_(options) {
    expects(options.momentum >= 0 && options.momentum < 1, [&] {
      return "the momentum is " + std::to_string(options.momentum) +
             " (the share of it that a step keeps); choose one in [0, 1)";
    });
    expects(options.clip >= 0 && std::isfinite(options.clip), [&] {
      return "clip is " + std::to_string(options.clip) +
             " (the norm that a gradient is scaled down to); choose a positive number, or 0 for "
             "none";
    });
  }
  /// Over so many ranks are gradients averaged.
  void serve(int ranks) { limit_ = options_.clip / std::sqrt(static_cast<double>(ranks)); }

  template <GradientValue A>
  void resize(E& exec, const Model& model) {
    size_ = model.size();
    type_ = value_type<A>;
    residual(exec, [&]<class R>(std::span<R> values) {
      exec.for_each(values.size(), kernel::Fill<R>{values.data(), R{}});
    });
  }
  /// Before a call's pieces are compensated: parameters whole, in order. Waits where it clips.
  template <class T>
  void measure(E& exec, std::span<const Piece<T>> pieces) {
    scales_.clear();
    if (options_.clip == 0) return;
    norms_.begin(exec, pieces);
    for (const Piece<T>& piece : pieces) norms_.add(exec, piece, 0, false);
    norms_.read(exec);
    for (const Piece<T>& piece : pieces) {
      if (scales_.size() <= piece.part) scales_.resize(piece.part + 1, 1);
      kernel::Moments sums;
      norms_.add_to(sums, piece.part);
      const double norm = std::sqrt(sums.squares);
      if (norm > limit_) scales_[piece.part] = limit_ / norm;
    }
  }
  template <class T, class A>
  void compensate(E& exec, Piece<T> piece, A* out) {
    const double scale = piece.part < scales_.size() ? scales_[piece.part] : 1;
    exec.for_each(piece.size,
                  kernel::Accelerate<std::remove_const_t<T>, A>{
                      piece.data, static_cast<A>(scale), static_cast<A>(options_.momentum),
                      options_.nesterov, at<A>(exec, velocity_, piece.first),
                      at<A>(exec, residual_, piece.first), at<A>(exec, next_, piece.first), out});
  }
  template <class A, class Closed>
  void commit(E& exec, Piece<const A> missed, Closed closed, Step) {
    const std::size_t first = missed.first;
    exec.for_each(missed.size, kernel::Settle<A, Closed>{
                                   missed.data, closed, first, at<A>(exec, next_, first),
                                   at<A>(exec, velocity_, first), at<A>(exec, residual_, first)});
  }
  /// Calls f with the momentum and with the residual of the whole model.
  template <class F>
  void residual(E& exec, F f) {
    with_gradient_type(type_, [&]<class R>() {
      f(velocity_.template take<R>(exec, size_));
      f(residual_.template take<R>(exec, size_));
    });
  }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return velocity_.bytes() + residual_.bytes() + next_.bytes();
  }

  void save(E& exec, Writer& writer) {
    writer.value(type_);
    residual(exec, [&]<class R>(std::span<R> values) {
      std::vector<R> host(size_);
      exec.read(as_const_span(values), std::span<R>(host));
      writer.array(std::span<const R>(host));
    });
  }
  void load(E& exec, Reader& reader) {
    reader.expect(static_cast<std::uint64_t>(type_), "residual storage type");
    with_gradient_type(type_, [&]<class R>() {
      const auto velocity = reader.array<R>(size_, "the momentum");
      const auto missed = reader.array<R>(size_, "the residual");
      exec.write(std::span<const R>(velocity), velocity_.template take<R>(exec, size_));
      exec.write(std::span<const R>(missed), residual_.template take<R>(exec, size_));
    });
  }

 private:
  template <class A>
  A* at(E& exec, Scratch<E>& memory, std::size_t first) {
    return memory.template take<A>(exec, size_).data() + first;
  }

  MomentumFeedback options_;
  double limit_ = options_.clip;
  std::size_t size_ = 0;
  ValueType type_ = ValueType::float32;
  std::vector<double> scales_;  ///< by part, as far as any is not 1
  PartMoments<E> norms_;
  Scratch<E> velocity_, residual_, next_;
};

}  // namespace pactrain

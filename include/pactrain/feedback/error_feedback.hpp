// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/feedback/feedback.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

namespace kernel {

/// out[i] = gradient[i] + residual[i].
template <class T, class R, class A>
struct Compensate {
  const T* gradient;
  const R* residual;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    out[i] = cast<A>(gradient[i]) + cast<A>(residual[i]);
  }
};

/// residual[i] = (1 - gamma) residual[i] + gamma missed[i]; it stays where that is not finite, as
/// if the entry had had no gradient in this step.
template <class R, class A>
struct Remember {
  const A* missed;
  A gamma;
  R* residual;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const A kept = gamma == A(1) ? A(0) : (A(1) - gamma) * cast<A>(residual[i]);
    const R now = cast<R>(static_cast<A>(kept + gamma * missed[i]));
    residual[i] = is_finite(now) ? now : residual[i];
  }
};

}  // namespace kernel

/// What a step does not convey is added to a later one: with p = gradient + residual and c what
/// this rank conveyed, residual becomes (1 - gamma) residual + gamma (p - c). `gamma` = 1 is
/// classic error feedback, less is ScaleCom's low-pass filter and LoCo's moving average. The law,
/// without resets and up to rounding of the storage: sum of conveyed = sum of gradients - residual
/// / gamma. Residuals are kept as `storage` (by default the type the gradient is added in) and set
/// to zero after every `reset_period` steps (0: never). An entry whose loss is not finite keeps its
/// residual.
struct ErrorFeedback {
  static constexpr bool active = true;
  double gamma = 1.0;
  Step reset_period = 0;
  std::optional<ValueType> storage{};

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}(gamma)(reset_period)(storage ? 1 + static_cast<int>(*storage) : 0).value();
  }

  template <Executor E>
  class on {
   public:
    explicit on(const ErrorFeedback& options)
        : gamma_(options.gamma), reset_period_(options.reset_period), storage_(options.storage) {
      expects(options.gamma > 0.0 && options.gamma <= 1.0, [&] {
        return "gamma is " + std::to_string(options.gamma) +
               " (the share of a step's loss that is remembered); choose one in (0, 1]";
      });
      expects(!options.storage || *options.storage <= ValueType::bfloat16,
              "residuals cannot be stored as integers (they are fractions of gradients); choose a "
              "value type of gradients");
    }

    /// A residual of zeros for a model of `size` entries whose sums are made in type A.
    template <GradientValue A>
    void resize(E& exec, std::size_t size) {
      size_ = size;
      type_ = storage_.value_or(value_type<A>);
      forget(exec);
    }
    template <class T, class A>
    void compensate(E& exec, Piece<T> piece, A* out) {
      with(
          [&]<class R>(std::span<R> residual) {
            exec.for_each(piece.size, kernel::Compensate<std::remove_const_t<T>, R, A>{
                                          piece.data, residual.data() + piece.first, out});
          },
          exec);
    }
    template <class A>
    void commit(E& exec, std::size_t first, std::span<const A> missed, Step step) {
      with(
          [&]<class R>(std::span<R> residual) {
            exec.for_each(missed.size(),
                          kernel::Remember<R, A>{missed.data(), static_cast<A>(gamma_),
                                                 residual.data() + first});
            if (reset_period_ != 0 && (step + 1) % reset_period_ == 0) {
              exec.for_each(missed.size(), kernel::Fill<R>{residual.data() + first, R{}});
            }
          },
          exec);
    }
    /// Calls f with the residual of the whole model, in its storage type.
    template <class F>
    void residual(E& exec, F f) {
      with([&]<class R>(std::span<R> residual) { f(residual); }, exec);
    }
    [[nodiscard]] std::size_t bytes() const noexcept { return residual_.bytes(); }

    void save(E& exec, Writer& writer) {
      writer.value(type_);
      with(
          [&]<class R>(std::span<R> residual) {
            std::vector<R> host(size_);
            exec.read(as_const_span(residual), std::span<R>(host));
            writer.array(std::span<const R>(host));
          },
          exec);
    }
    void load(E& exec, Reader& reader) {
      reader.expect(static_cast<std::uint64_t>(type_), "residual storage type");
      with(
          [&]<class R>(std::span<R> residual) {
            const auto host = reader.array<R>(size_, "the residual");
            exec.write(std::span<const R>(host), residual);
          },
          exec);
    }

   private:
    template <class F>
    void with(F f, E& exec) {
      with_gradient_type(type_, [&]<class R>() { f(residual_.template take<R>(exec, size_)); });
    }
    void forget(E& exec) {
      with(
          [&]<class R>(std::span<R> residual) {
            exec.for_each(residual.size(), kernel::Fill<R>{residual.data(), R{}});
          },
          exec);
    }

    double gamma_;
    Step reset_period_;
    std::optional<ValueType> storage_;
    std::size_t size_ = 0;
    ValueType type_ = ValueType::float32;
    Scratch<E> residual_;
  };
};

}  // namespace pactrain

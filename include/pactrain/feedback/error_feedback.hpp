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
#include <pactrain/kernel/byte_residual.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/pack.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
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
///
/// Stored as `ValueType::int8`, as LoCo does (arXiv 2407.04480), a residual is the integer nearest
/// to residual * `error_scale`, cut to [-128, 127]; without a scale, integers are in 128ths of the
/// largest residual of `block` positions of the model. Such blocks are stored as a whole: where the
/// entries of one are reduced in several slices, its others are rounded once more at each.
struct ErrorFeedback {
  static constexpr bool active = true;
  double gamma = 1.0;
  Step reset_period = 0;
  std::optional<ValueType> storage{};
  double error_scale = 0.0;  ///< of int8 storage: integers per unit; 0: by block
  std::size_t block = 256;   ///< of int8 storage without a scale, at least 1

  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint sum;
    sum(gamma)(reset_period)(storage ? 1 + static_cast<int>(*storage) : 0);
    return storage == ValueType::int8 ? sum(error_scale)(block).value() : sum.value();
  }

  template <Executor E>
  class on {
   public:
    explicit on(const ErrorFeedback& options)
        : gamma_(options.gamma),
          reset_period_(options.reset_period),
          storage_(options.storage),
          scale_(options.error_scale),
          block_(options.block) {
      expects(options.gamma > 0.0 && options.gamma <= 1.0, [&] {
        return "gamma is " + std::to_string(options.gamma) +
               " (the share of a step's loss that is remembered); choose one in (0, 1]";
      });
      expects(!options.storage || *options.storage <= ValueType::int8,
              "residuals cannot be stored as wide integers (they are fractions of gradients); "
              "choose a value type of gradients, or int8");
      expects(options.error_scale == 0.0 ||
                  (options.error_scale > 0x1p-126 && options.error_scale < 0x1p126 &&
                   options.storage == ValueType::int8),
              [&] {
                return "error_scale is " + std::to_string(options.error_scale) +
                       " (integers per unit of residual, of storage as int8); choose a positive "
                       "number and that storage, or 0";
              });
      expects(options.block > 0,
              "a block of residuals is empty (it is what shares a scale); choose 64 to 1024");
    }

    /// A residual of zeros for a model whose sums are made in type A.
    template <GradientValue A>
    void resize(E& exec, const Model& model) {
      size_ = model.size();
      parts_ = model.parts().size();
      type_ = storage_.value_or(value_type<A>);
      exec.for_each(blocks(), kernel::Fill<float>{largest(exec).data(), 0.0f});
      with([&]<class R>(std::span<R> residual) { clear(exec, residual); }, exec);
    }
    template <class T, class A>
    void compensate(E& exec, Piece<T> piece, A* out) {
      using G = std::remove_const_t<T>;
      with(
          [&]<class R>(std::span<R> residual) {
            if constexpr (std::same_as<R, std::int8_t>) {
              const kernel::ByteResidual bytes = bytes_of(exec, residual, piece);
              exec.for_each(bytes.touched(piece.at, piece.size),
                            kernel::CompensateBytes<G, A>{piece.as_const(), bytes, out});
            } else {
              exec.for_each(piece.size, kernel::Compensate<G, R, A>{
                                            piece.data, residual.data() + piece.first, out});
            }
          },
          exec);
    }
    template <class A>
    void commit(E& exec, Piece<const A> missed, Step step) {
      const auto share = static_cast<A>(gamma_);
      with(
          [&]<class R>(std::span<R> residual) {
            if constexpr (std::same_as<R, std::int8_t>) {
              const kernel::ByteResidual bytes = bytes_of(exec, residual, missed);
              exec.for_each(bytes.touched(0, missed.size),
                            kernel::RememberBytes<A>{missed, share, bytes});
            } else {
              exec.for_each(missed.size, kernel::Remember<R, A>{missed.data, share,
                                                                residual.data() + missed.first});
            }
            if (reset_period_ != 0 && (step + 1) % reset_period_ == 0) {
              clear(exec, residual.subspan(missed.first, missed.size));
            }
          },
          exec);
    }
    /// Calls f with the residual of the whole model, as it is stored.
    template <class F>
    void residual(E& exec, F f) {
      with([&]<class R>(std::span<R> residual) { f(residual); }, exec);
    }
    /// The residual times `factor`, which is positive: what a change of the loss scale by it makes
    /// of gradients. Integers stay as they are, and mean that much more.
    void rescale(E& exec, double factor) {
      expects(factor > 0.0 && factor <= std::numeric_limits<double>::max(), [&] {
        return "a residual is to be multiplied by " + std::to_string(factor) +
               "; choose a positive number";
      });
      if (type_ != ValueType::int8) {
        with_gradient_type(type_, [&]<class R>() {
          exec.for_each(size_,
                        kernel::Rescale<R>{residual_.template view<R>(size_).data(), factor});
        });
      } else if (scale_ > 0) {
        scale_ /= factor;
      } else {
        exec.for_each(blocks(), kernel::Rescale<float>{largest(exec).data(), factor});
      }
    }
    [[nodiscard]] std::size_t bytes() const noexcept {
      return residual_.bytes() + largest_.bytes();
    }

    void save(E& exec, Writer& writer) {
      writer.value(type_);
      if (type_ == ValueType::int8) {
        writer.value(scale_);
        write(exec, writer, largest(exec));
      }
      with([&]<class R>(std::span<R> residual) { write(exec, writer, residual); }, exec);
    }
    void load(E& exec, Reader& reader) {
      reader.expect(static_cast<std::uint64_t>(type_), "residual storage type");
      double scale = scale_;
      std::vector<float> scales;
      if (type_ == ValueType::int8) {
        scale = std::bit_cast<double>(reader.value());
        if (!(scale_ > 0 ? scale > 0 : scale == 0)) {
          throw StateError("pactrain: the state is damaged (its residual has no such scale)");
        }
        scales = reader.array<float>(blocks(), "the scales of the residual");
      }
      with(
          [&]<class R>(std::span<R> residual) {
            const auto host = reader.array<R>(size_, "the residual");
            exec.write(std::span<const R>(host), residual);
          },
          exec);
      scale_ = scale;
      exec.write(std::span<const float>(scales), largest(exec));
    }

   private:
    template <class F>
    void with(F f, E& exec) {
      if (type_ == ValueType::int8) return f(residual_.template take<std::int8_t>(exec, size_));
      with_gradient_type(type_, [&]<class R>() { f(residual_.template take<R>(exec, size_)); });
    }
    template <class R>
    void clear(E& exec, std::span<R> residual) {
      exec.for_each(residual.size(), kernel::Fill<R>{residual.data(), R{}});
    }
    template <class R>
    static void write(E& exec, Writer& writer, std::span<R> values) {
      std::vector<R> host(values.size());
      exec.read(as_const_span(values), std::span<R>(host));
      writer.array(std::span<const R>(host));
    }
    /// Room for the scales of blocks, none of which crosses a parameter.
    [[nodiscard]] std::size_t blocks() const {
      return type_ == ValueType::int8 && scale_ == 0 ? size_ / block_ + parts_ : 0;
    }
    std::span<float> largest(E& exec) { return largest_.template take<float>(exec, blocks()); }
    /// The residual of the parameter that a piece lies in.
    template <class T>
    kernel::ByteResidual bytes_of(E& exec, std::span<std::int8_t> residual, const Piece<T>& piece) {
      const std::size_t first = piece.first - piece.at;
      float* const scales =
          scale_ > 0 ? nullptr : largest(exec).data() + first / block_ + piece.part;
      return {residual.data() + first, scales, block_, scale_};
    }

    double gamma_;
    Step reset_period_;
    std::optional<ValueType> storage_;
    double scale_;
    std::size_t block_, size_ = 0, parts_ = 0;
    ValueType type_ = ValueType::float32;
    Scratch<E> residual_, largest_;
  };
};

}  // namespace pactrain

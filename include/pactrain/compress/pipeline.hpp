// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/pack.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

namespace detail {
/// Makes as many values of as many, by parameter, in the type sums are made in; and back.
template <class T, class E>
concept ValueStage =
    Executor<E> && std::copyable<T> &&
    requires(const T& options, typename T::template on<E>& stage, E& exec, const CodecCall& call,
             std::span<const float> from, std::span<float> to) {
      { options.fingerprint() } -> std::same_as<std::uint64_t>;
      requires std::constructible_from<typename T::template on<E>, const T&>;
      stage.forward(exec, call, from, to);
      stage.inverse_add(exec, call, to, to);
    };

template <class Z, class S>
struct WiresOf {};
template <class Z, class S>
  requires(Z::additive)
struct WiresOf<Z, S> {
  using type = typename Z::template wires<S>;
};
}  // namespace detail

/// A codec behind a stage: values go through the stage, then through the codec; wires are added if
/// the codec's are, before the stage is undone, which must be linear. A stage makes as many values
/// as it gets. `Pipeline<RandomisedHadamard, NormalHomomorphic>` is THC; stages may be several:
/// `Pipeline<First, Pipeline<Second, Codec>>`.
template <class Stage, class Codec>
struct Pipeline {
  static constexpr bool additive = Codec::additive;
  template <class S>
  using wires = typename detail::WiresOf<Codec, arithmetic_t<S>>::type;
  Stage stage{};
  Codec codec{};

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}('P')(stage.fingerprint())(codec.fingerprint()).value();
  }

  template <Executor E>
  class on {
    static_assert(detail::ValueStage<Stage, E>,
                  "pactrain: the first of a Pipeline is a stage, which needs fingerprint(), and "
                  "on<Executor> with forward and inverse_add");
    static_assert(Compressor<Codec, E>,
                  "pactrain: the last of a Pipeline is a codec (concept Compressor)");

   public:
    explicit on(const Pipeline& options) : stage_(options.stage), codec_(options.codec) {}

    template <GradientValue S>
    [[nodiscard]] ValueType wire_type(int ranks) const
      requires additive
    {
      return codec_.template wire_type<arithmetic_t<S>>(ranks);
    }
    template <GradientValue S>
    [[nodiscard]] std::size_t wire_bytes(const CodecCall& call) const
      requires(!additive)
    {
      return codec_.template wire_bytes<arithmetic_t<S>>(call);
    }
    [[nodiscard]] std::size_t bounds_count(const CodecCall& call) const
      requires has_bounds<Codec, E>
    {
      return codec_.bounds_count(call);
    }
    template <GradientValue S>
    void bounds(E& exec, const CodecCall& call, std::span<const S> values, std::span<float> out)
      requires has_bounds<Codec, E>
    {
      codec_.bounds(exec, call, forward(exec, call, values), out);
    }
    template <GradientValue S>
    void encode(E& exec, const CodecCall& call, std::span<const S> values,
                std::span<std::byte> wire) {
      codec_.encode(exec, call, forward(exec, call, values), wire);
    }
    template <GradientValue A>
    void decode_add(E& exec, const CodecCall& call, std::span<const std::byte> wire,
                    std::span<A> sum) {
      const auto turned = scratch_.template take<A>(exec, sum.size());
      exec.for_each(turned.size(), kernel::Fill<A>{turned.data(), A{}});
      codec_.decode_add(exec, call, wire, turned);
      stage_.inverse_add(exec, call, turned, sum);
    }

   private:
    template <class S>
    std::span<const arithmetic_t<S>> forward(E& exec, const CodecCall& call,
                                             std::span<const S> values) {
      const auto turned = scratch_.template take<arithmetic_t<S>>(exec, values.size());
      stage_.forward(exec, call, values, turned);
      return turned;
    }

    typename Stage::template on<E> stage_;
    typename Codec::template on<E> codec_;
    Scratch<E> scratch_;
  };
};

}  // namespace pactrain

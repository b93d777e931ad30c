// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// The packed values of one parameter: `size` values from `first` on in the packed vector.
struct PackedPart {
  std::size_t part = 0, first = 0, size = 0;
  friend bool operator==(const PackedPart&, const PackedPart&) = default;
};

/// What a codec is told of a call besides the values.
struct CodecCall {
  std::span<const PackedPart> parts;  ///< they follow each other and cover the packed vector
  int ranks = 1;
  Random random;                    ///< of this rank: ranks draw independently
  std::span<const float> agreed{};  ///< the bounds after Max over ranks, in executor memory
  const Model* model = nullptr;     ///< of the reducer: the names of the parts
  bool moved = false;               ///< the mask has changed: slots stand for other positions
};

/// The types that the elements of an additive wire may have.
template <ReducibleValue... W>
struct WireTypes {};

namespace detail {
template <class O, class E>
concept Codes =
    requires(O& codec, E& exec, const CodecCall& call, std::span<const float> values,
             std::span<std::byte> wire, std::span<const std::byte> received, std::span<float> sum) {
      codec.encode(exec, call, values, wire);
      codec.decode_add(exec, call, received, sum);
    };
template <class Z, class O>
concept SumsWires = requires(const O& codec, int ranks) {
  typename Z::template wires<float>;
  { codec.template wire_type<float>(ranks) } -> std::same_as<ValueType>;
};
template <class O>
concept GathersWires = requires(const O& codec, const CodecCall& call) {
  { codec.template wire_bytes<float>(call) } -> std::same_as<std::size_t>;
};
template <class O, class E>
concept SizesWires =
    requires(O& codec, E& exec, const CodecCall& call, std::span<const float> values) {
      { codec.wire_bytes(exec, call, values) } -> std::same_as<std::size_t>;
    };
template <class Z, class E>
concept BringsExchange = requires { typename Z::template exchange<float, float, E, void>; };
struct NoState {
  NoState() = default;
  explicit NoState(const auto&) {}
};
template <class Z, class E>
struct codec_state {
  using type = NoState;
};
template <class Z, class E>
  requires requires { typename Z::template state<E>; }
struct codec_state<Z, E> {
  using type = typename Z::template state<E>;
};
}  // namespace detail

/// What a codec keeps from step to step; the reducer holds it, and every call uses the same.
template <class Z, class E>
using codec_state = typename detail::codec_state<Z, E>::type;

/// A codec of these options in an executor's memory.
template <class E, class Z>
[[nodiscard]] typename Z::template on<E> codec_on(const Z& options, codec_state<Z, E>& state) {
  using On = typename Z::template on<E>;
  if constexpr (std::constructible_from<On, const Z&, codec_state<Z, E>&>)
    return On(options, state);
  else return On(options);
}

/// WHAT a packed value looks like on the wire. A codec is an aggregate of options; its `on<E>`
/// holds what lives in executor memory. It sees values by parameter, no positions and no ranks'
/// other data; blocks and scales never cross a parameter.
///
/// Options have `additive` (a constant: may wires be added element by element before decoding?),
/// `fingerprint()` and, where additive, `wires<S>`: the `WireTypes` that wires may be made of.
/// `on<E>` has, for values of type S (A is `arithmetic_t<S>`):
/// - `on(options)`;
/// - additive: `wire_type<S>(ranks)`, one of `wires<S>`: one such element a value; integers must
///   hold the sum of `ranks` of them. Otherwise: `wire_bytes<S>(call)`: bytes of one rank's wire;
///   or `wire_bytes(exec, call, values)`, before `encode`, where ranks' wires differ in size, and
///   optionally `most_wire_bytes<S>(call, n)`: no rank's wire of n values is longer, so that memory
///   for another rank's is bounded before it is asked for.
/// - optionally `bounds_count(call)` and `bounds(exec, call, values, out)`: numbers whose maximum
///   over ranks `encode` needs, as floats that are not below them; non-finite values are skipped.
/// - `encode(exec, call, values, wire)`: wire is bytes in executor memory;
/// - `decode_add(exec, call, wire, sum)`: adds what a wire (of one rank, or of all ranks summed)
///   means to `sum`, a span of A.
///
/// A float wire carries NaN as NaN; a wire that cannot decodes the values that share a scale with
/// it to NaN, or reports by its bounds. `Identity` is marked `in_place`: wire and values are one.
///
/// A codec that keeps something from step to step has a `state<E>(options)` too, and an
/// `on(options, state)`. A state may have `close(accepted)` (the call has ended), `save(exec,
/// writer)` and `load(exec, model, reader)`. A codec that is marked `whole` wants all of the model
/// in one call. `for_values_of<T>()`, of the options, is the codec that travels in its place for
/// gradients of type T. A codec may bring its own way over the ranks (`exchange`, see
/// algorithm/exchange.hpp); its `on<E>` then needs no more than that way asks of it.
template <class Z, class E>
concept Compressor = Executor<E> && std::copyable<Z> &&
                     requires(const Z& options) {
                       requires std::same_as<decltype(Z::additive), const bool>;
                       { options.fingerprint() } -> std::same_as<std::uint64_t>;
                       requires std::constructible_from<typename Z::template on<E>, const Z&> ||
                                    std::constructible_from<typename Z::template on<E>, const Z&,
                                                            codec_state<Z, E>&>;
                     } &&
                     (detail::BringsExchange<Z, E> ||
                      (detail::Codes<typename Z::template on<E>, E> &&
                       ((Z::additive && detail::SumsWires<Z, typename Z::template on<E>>) ||
                        (!Z::additive && (detail::GathersWires<typename Z::template on<E>> ||
                                          detail::SizesWires<typename Z::template on<E>, E>)))));

/// Do wires of different ranks differ in size?
template <class Z, class E>
inline constexpr bool has_sizes = detail::SizesWires<typename Z::template on<E>, E>;

/// Must all of the model come in one call?
template <class Z>
inline constexpr bool is_whole = requires { requires Z::whole; };

/// The codec that travels for gradients of type T where the user named `options`.
template <class T, class Z>
[[nodiscard]] constexpr auto as_sent(const Z& options) {
  if constexpr (requires { options.template for_values_of<T>(); }) {
    return options.template for_values_of<T>();
  } else {
    return options;
  }
}

/// Is the wire the packed values themselves?
template <class Z>
inline constexpr bool is_in_place = requires { requires Z::in_place; };

/// Does the codec need a maximum over ranks before it encodes?
template <class Z, class E>
inline constexpr bool has_bounds = requires(typename Z::template on<E>& codec,
                                            const CodecCall& call) { codec.bounds_count(call); };

namespace detail {
template <class S, class Wires>
inline constexpr bool all_gradient_values = false;
template <class S, class... W>
inline constexpr bool all_gradient_values<S, WireTypes<W...>> = (GradientValue<W> && ...);
template <class Z, class S>
constexpr bool has_float_wire() {
  if constexpr (Z::additive) return all_gradient_values<S, typename Z::template wires<S>>;
  else return false;
}
}  // namespace detail

/// Is the wire of values of type S made of floating-point elements that may be added? Then it can
/// carry a NaN.
template <class Z, class S>
inline constexpr bool has_float_wire = detail::has_float_wire<Z, S>();

}  // namespace pactrain

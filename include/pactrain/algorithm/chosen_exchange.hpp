// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/exchange.hpp>
#include <pactrain/algorithm/exchange_base.hpp>
#include <pactrain/algorithm/ways.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace pactrain {

/// The exchanges of several codecs, of which each call takes one.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
class ChosenExchange {
  using State = codec_state<Options, E>;
  using A = arithmetic_t<T>;
  static constexpr std::size_t count = Options::count;
  template <std::size_t I>
  using Route = Exchange<T, S, E, C, typename Options::template codec<I>>;

 public:
  ChosenExchange(const Options& options, State& state)
      : ChosenExchange(options, state, std::make_index_sequence<count>{}) {}

  /// The next call goes this way; the path, if that is by a codec or by none.
  Path take(const Way& way) {
    way_ = way;
    return way.path;
  }
  void start(E& exec, C& comm, CodecCall call, const ExchangeOptions& options, std::span<S> packed,
             std::span<std::uint32_t> flags, Report& report) {
    step_ = call.random.step;
    call.moved = call.moved || way_.moved;
    with([&](auto& route) { route.start(exec, comm, call, options, packed, flags, report); });
  }
  template <class Wait>
  bool advance(E& exec, C& comm, Wait wait) {
    return with([&](auto& route) { return route.advance(exec, comm, wait); });
  }
  bool poll(E& exec, C& comm) {
    return with([&](auto& route) { return route.poll(exec, comm); });
  }
  [[nodiscard]] bool started() {
    return with([](auto& route) { return route.started(); });
  }
  [[nodiscard]] bool carries_non_finite() {
    return with([](auto& route) { return route.carries_non_finite(); });
  }
  [[nodiscard]] std::span<T> values() {
    return with([](auto& route) { return route.values(); });
  }
  [[nodiscard]] std::size_t kept() {
    return with([](auto& route) { return route.kept(); });
  }
  [[nodiscard]] std::optional<double> quality() {
    return with([](auto& route) { return route.quality(); });
  }
  void pass_over() {
    with([](auto& route) { route.pass_over(); });
  }
  /// Calls `f` with the exchange that carried the call, which was accepted.
  template <class F>
  void visit(F f) {
    state_->decisions().coded(way_, step_);
    with(f);
  }

 private:
  template <std::size_t... I>
  ChosenExchange(const Options& options, State& state, std::index_sequence<I...>)
      : state_(&state),
        routes_(Route<I>(std::get<I>(options.codecs), state.template codec<I>())...) {}

  template <class Routes>
  struct RoutesOf;
  template <std::size_t... I>
  struct RoutesOf<std::index_sequence<I...>> {
    using type = std::tuple<Route<I>...>;
  };
  template <std::size_t I = 0, class F>
  decltype(auto) with(F&& f) {
    if constexpr (I + 1 < count) {
      if (way_.codec != I) return with<I + 1>(f);
    }
    return f(std::get<I>(routes_));
  }

  State* state_;
  typename RoutesOf<std::make_index_sequence<count>>::type routes_;
  Way way_;
  Step step_ = 0;
};

}  // namespace pactrain

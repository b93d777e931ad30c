// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/gathered_exchange.hpp>
#include <pactrain/algorithm/summed_exchange.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>

namespace pactrain {

namespace detail {
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
struct exchange {
  using type = GatheredExchange<T, S, E, C, Options>;
};
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
  requires(Options::additive)
struct exchange<T, S, E, C, Options> {
  using type = SummedExchange<T, S, E, C, Options>;
};
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
  requires requires { typename Options::template exchange<T, S, E, C>; }
struct exchange<T, S, E, C, Options> {
  using type = typename Options::template exchange<T, S, E, C>;
};
}  // namespace detail

/// How the wires of a codec get over the ranks: wires that may be added are summed, others are
/// gathered, unless the codec brings a way of its own, `exchange<T, S, E, C>`, which is a class
/// derived from `ExchangeBase`.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
using Exchange = typename detail::exchange<T, S, E, C, Options>::type;

}  // namespace pactrain

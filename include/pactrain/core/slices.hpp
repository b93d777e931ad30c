// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/value_type.hpp>

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace pactrain {

/// Customisation point: how a type of another library is seen as a span. Specialise it with a
/// static member function `span(x)` that returns a std::span (Views, device vectors, tensors).
template <class X>
struct SpanOf {};

template <class X>
concept HasSpanOf = requires(X& x) { SpanOf<std::remove_cv_t<X>>::span(x); };

/// The contiguous values of `x` as a span, without copying: vectors, arrays, spans, and whatever
/// `SpanOf` is specialised for.
template <class X>
  requires HasSpanOf<std::remove_reference_t<X>> || std::ranges::contiguous_range<X>
[[nodiscard]] constexpr auto as_span(X&& x) {
  if constexpr (HasSpanOf<std::remove_reference_t<X>>) {
    return SpanOf<std::remove_cvref_t<X>>::span(x);
  } else {
    return std::span<std::remove_reference_t<std::ranges::range_reference_t<X>>>(
        std::ranges::data(x), std::ranges::size(x));
  }
}

/// The values of one parameter, or of a part of the model, under a name. A matrix, row after row,
/// may say how many `rows` it has (the tensor of a convolution: its outputs), for reducers that
/// want to know; 0 or 1 is a vector.
template <class T>
struct Slice {
  std::string name;
  std::span<T> values;
  std::size_t rows = 0;
};

namespace detail {
template <class X>
struct slice_value {};
template <class T>
struct slice_value<Slice<T>> {
  using type = T;
};
template <class X>
using span_value_t =
    typename std::remove_cvref_t<decltype(as_span(std::declval<X&>()))>::element_type;
}  // namespace detail

/// A list of named slices: a vector, array or span of `Slice<T>`.
template <class X>
concept SliceList = std::ranges::contiguous_range<X> && requires {
  typename detail::slice_value<std::remove_cv_t<std::ranges::range_value_t<X>>>::type;
};

/// Something whose gradient values can be seen: a list of slices, or what `as_span` accepts.
template <class X>
concept Sliceable = SliceList<X> || (requires(X& x) { as_span(x); } &&
                                     GradientValue<std::remove_cv_t<detail::span_value_t<X>>>);

namespace detail {
template <class X>
struct sliceable_value {
  using type = span_value_t<X>;
};
template <SliceList X>
struct sliceable_value<X> {
  using type = typename slice_value<std::remove_cv_t<std::ranges::range_value_t<X>>>::type;
};
}  // namespace detail

/// The element type of a `Sliceable`, const where its values are.
template <Sliceable X>
using slice_value_t = typename detail::sliceable_value<std::remove_reference_t<X>>::type;

/// Calls `f` with `x` as a `std::span<const Slice<T>>`; a single span is a list of one, nameless.
template <Sliceable X, class F>
constexpr decltype(auto) with_slices(X&& x, F&& f) {
  using T = slice_value_t<X>;
  if constexpr (SliceList<X>) {
    return f(std::span<const Slice<T>>(std::ranges::data(x), std::ranges::size(x)));
  } else {
    const Slice<T> one{{}, as_span(x), 0};
    return f(std::span<const Slice<T>>(&one, 1));
  }
}

}  // namespace pactrain

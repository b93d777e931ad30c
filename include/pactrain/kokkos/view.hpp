// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/slices.hpp>

#include <Kokkos_Core.hpp>

#include <span>
#include <type_traits>

namespace pactrain {

/// A contiguous Kokkos::View of any rank and any memory traits as a span of its values, in the
/// order in which they lie in memory; const values where the View's are. Nothing is copied, and the
/// View must outlive the span. Views of `LayoutStride` do not compile; others that are not
/// contiguous (a column of a row-major matrix, padded rows) throw `PreconditionError`, as do those
/// of rank 0 and of fixed extents that were never allocated. The span does not know the View's
/// memory space: pass it to a reducer whose backend reaches that.
template <class Data, class... Properties>
struct SpanOf<Kokkos::View<Data, Properties...>> {
  using View = Kokkos::View<Data, Properties...>;

  static std::span<typename View::value_type> span(const View& view) {
    static_assert(
        !std::is_same_v<typename View::array_layout, Kokkos::LayoutStride>,
        "pactrain: a strided View (LayoutStride) has no contiguous values; copy it into a "
        "View of LayoutRight or LayoutLeft");
    expects(view.size() == 0 || view.span_is_contiguous(), [&] {
      return "View '" + view.label() +
             "' is not contiguous (it is padded, or a part of a larger one); copy it into a View "
             "of "
             "its own";
    });
    // What its size is differs from one Kokkos to the next.
    expects(
        view.data() != nullptr || (View::rank_dynamic > 0 && view.size() == 0),
        "a View of no memory has no values (it was made without a label, or of a null pointer); "
        "allocate it first, as in View<float[4]> x(\"x\")");
    return {view.data(), view.size()};
  }
};

}  // namespace pactrain

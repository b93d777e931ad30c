// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/core/error.hpp>
#include <pactrain/core/slices.hpp>
#include <pactrain/kokkos/view.hpp>

#include <Kokkos_Core.hpp>
#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

using namespace pactrain;

template <class Data, class... Properties>
using HostView = Kokkos::View<Data, Properties..., Kokkos::HostSpace>;

namespace {

/// What is said where a View is refused.
template <class View>
std::string refusal(const View& view) {
  try {
    (void)as_span(view);
  } catch (const PreconditionError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

template <class View, class T>
void check_span(const View& view) {
  const auto span = as_span(view);
  static_assert(std::same_as<std::remove_const_t<decltype(span)>, std::span<T>>);
  static_assert(Sliceable<View>);
  CHECK(span.data() == view.data());
  CHECK(span.size() == view.size());
}

}  // namespace

TEST_CASE("contiguous Views of any rank are spans") {
  check_span<HostView<float>, float>(HostView<float>("scalar"));
  check_span<HostView<float*>, float>(HostView<float*>("vector", 5));
  check_span<HostView<double**>, double>(HostView<double**>("matrix", 3, 5));
  check_span<HostView<float[4]>, float>(HostView<float[4]>("fixed"));
  check_span<HostView<double***, Kokkos::LayoutLeft>, double>(
      HostView<double***, Kokkos::LayoutLeft>("cube", 2, 3, 4));
  check_span<HostView<float*>, float>(HostView<float*>());

  const HostView<float**> matrix("matrix", 4, 6);
  check_span<HostView<const float**>, const float>(HostView<const float**>(matrix));
  using Random = Kokkos::MemoryTraits<Kokkos::RandomAccess>;
  using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
  using RandomView = Kokkos::View<const float**, Kokkos::LayoutRight, Kokkos::HostSpace, Random>;
  using UnmanagedView = Kokkos::View<float*, Kokkos::LayoutRight, Kokkos::HostSpace, Unmanaged>;
  check_span<RandomView, const float>(RandomView(matrix));
  std::vector<float> values(7);
  check_span<UnmanagedView, float>(UnmanagedView(values.data(), values.size()));
  CHECK(as_span(Kokkos::subview(matrix, 2, Kokkos::ALL())).data() == &matrix(2, 0));
}

TEST_CASE("Views that are not contiguous are refused by name") {
  const HostView<float**, Kokkos::LayoutLeft> matrix("matrix", 4, 6);
  const Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> part =
      Kokkos::subview(matrix, std::pair(1, 3), Kokkos::ALL());
  CHECK(refusal(part).starts_with("pactrain: View 'matrix' is not contiguous"));
}

/// Their extents say that they have values; views of dynamic extents have none.
TEST_CASE("Views that were never allocated are refused if their type gives them values") {
  CHECK(refusal(HostView<float>{}).starts_with("pactrain: a View of no memory has no values"));
  CHECK(refusal(HostView<double[3][4]>{}).find("allocate it first") != std::string::npos);
  CHECK(as_span(HostView<float**>{}).empty());
}

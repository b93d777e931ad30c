// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/core/slices.hpp>
#include <pactrain/core/value_type.hpp>

#include <doctest/doctest.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <vector>

/// A view of another library.
struct ForeignView {
  double* first;
  int extent;
};
template <>
struct pactrain::SpanOf<ForeignView> {
  static std::span<double> span(const ForeignView& view) {
    return {view.first, static_cast<std::size_t>(view.extent)};
  }
};

using namespace pactrain;

namespace {

template <class T>
bool is_of(std::span<T> span, const T* first, std::size_t size) {
  return span.data() == first && span.size() == size;
}

TEST_CASE("vectors, arrays and spans are seen without copying") {
  std::vector<float> vector(3);
  CHECK(is_of<float>(as_span(vector), vector.data(), 3));
  const std::vector<float>& constant = vector;
  CHECK(is_of<const float>(as_span(constant), vector.data(), 3));
  std::array<double, 4> array{};
  CHECK(is_of<double>(as_span(array), array.data(), 4));
  float plain[5]{};
  CHECK(is_of<float>(as_span(plain), plain, 5));
  const std::span<float16> span;
  static_assert(std::same_as<decltype(as_span(span)), std::span<float16>>);
  CHECK(as_span(span).empty());
  CHECK(as_span(std::span<const float>(vector).subspan(1)).data() == vector.data() + 1);
}

TEST_CASE("types of other libraries are seen by SpanOf") {
  double values[7]{};
  ForeignView view{values, 7};
  CHECK(is_of<double>(as_span(view), values, 7));
  const ForeignView constant = view;
  CHECK(is_of<double>(as_span(constant), values, 7));
  CHECK(is_of<double>(as_span(ForeignView{values, 2}), values, 2));
  static_assert(Sliceable<ForeignView>);
}

TEST_CASE("what is no list of gradient values is told apart") {
  static_assert(Sliceable<std::vector<float>> && Sliceable<const std::vector<bfloat16>&>);
  static_assert(!Sliceable<std::vector<int>> && !Sliceable<std::list<float>> && !Sliceable<float>);
  static_assert(Sliceable<std::vector<Slice<float>>> && SliceList<std::span<const Slice<float>>>);
  static_assert(!SliceList<std::vector<float>>);
  static_assert(std::same_as<slice_value_t<std::vector<float>&>, float>);
  static_assert(std::same_as<slice_value_t<const std::vector<float>&>, const float>);
  static_assert(std::same_as<slice_value_t<std::vector<Slice<const double>>>, const double>);
}

TEST_CASE("a span is a list of one slice without a name") {
  std::vector<float> vector(3);
  with_slices(vector, [&](auto slices) {
    REQUIRE(slices.size() == 1);
    CHECK(slices[0].name.empty());
    CHECK(is_of<float>(slices[0].values, vector.data(), 3));
  });
  float a[2]{}, b[3]{};
  const std::vector<Slice<float>> list{{"a", a}, {"b", b}, {"none", {}}};
  const std::size_t total = with_slices(list, [&](std::span<const Slice<float>> slices) {
    CHECK(slices.data() == list.data());
    CHECK(slices[1].name == "b");
    std::size_t sum = 0;
    for (const auto& slice : slices) sum += slice.values.size();
    return sum;
  });
  CHECK(total == 5);
}

}  // namespace

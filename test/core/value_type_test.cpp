// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/core/value_type.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

using namespace pactrain;

namespace {

/// The layout of a sixteen-bit type.
template <class H>
struct Layout;
template <>
struct Layout<float16> {
  static constexpr int fraction = 10, bias = 15;
};
template <>
struct Layout<bfloat16> {
  static constexpr int fraction = 7, bias = 127;
};

template <class H>
bool is_nan(std::uint32_t bits) {
  return (bits & 0x7fff) > exponent_mask<H>;
}
template <class H>
H from(std::uint32_t bits) {
  return H::from_bits(static_cast<std::uint16_t>(bits));
}
/// What finite bits mean, by definition.
template <class H>
double meaning(std::uint32_t bits) {
  constexpr int fraction = Layout<H>::fraction, bias = Layout<H>::bias;
  const int exponent = static_cast<int>(bits & 0x7fff) >> fraction;
  const auto mantissa = static_cast<double>(bits & ((1u << fraction) - 1));
  const double size =
      exponent == 0 ? std::ldexp(mantissa, 1 - bias - fraction)
                    : std::ldexp(mantissa + std::ldexp(1, fraction), exponent - bias - fraction);
  return (bits & 0x8000) != 0 ? -size : size;
}

TEST_CASE_TEMPLATE("every pattern is read, and comes back", H, float16, bfloat16) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const H half = from<H>(bits);
    const float x = float(half);
    const bool infinite = (bits & 0x7fff) == exponent_mask<H>;
    bool right = H(x).bits == bits && std::signbit(x) == (bits >> 15 != 0);
    if (is_nan<H>(bits)) right = std::isnan(x) && is_nan<H>(H(x).bits);
    else if (infinite) right = right && std::isinf(x);
    else right = right && static_cast<double>(x) == meaning<H>(bits);
    right = right && is_finite(half) == std::isfinite(x) && magnitude(half) == (bits & 0x7fff);
    CAPTURE(bits);
    if (!right) FAIL_CHECK("wrong");
  }
}

/// Between neighbours: the nearer, and the even one of two equally near. The neighbour of the
/// largest finite value is what would follow it, and means infinity.
TEST_CASE_TEMPLATE("conversion rounds to nearest even", H, float16, bfloat16) {
  for (std::uint32_t bits = 0; bits < exponent_mask<H>; ++bits) {
    const double low = meaning<H>(bits);
    const double high =
        bits + 1 == exponent_mask<H> ? std::ldexp(1, Layout<H>::bias + 1) : meaning<H>(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    REQUIRE(static_cast<double>(middle) == (low + high) / 2);
    const float below = std::nextafter(middle, 0.0f);
    const float above = std::nextafter(middle, std::numeric_limits<float>::infinity());
    CAPTURE(bits);
    const std::uint32_t even = bits + bits % 2;
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const float s = sign != 0 ? -1.0f : 1.0f;
      if (H(s * middle).bits != (even | sign)) FAIL_CHECK("tie");
      if (below > low && H(s * below).bits != (bits | sign)) FAIL_CHECK("below");
      if (above < high && H(s * above).bits != ((bits + 1) | sign)) FAIL_CHECK("above");
    }
  }
}

TEST_CASE("the edges of half precision") {
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(float16(65504.0f).bits == 0x7bff);
  CHECK(float16(65519.996f).bits == 0x7bff);
  CHECK(float16(65520.0f).bits == 0x7c00);
  CHECK(float16(-inf).bits == 0xfc00);
  CHECK(float16(0x1p-14f).bits == 0x0400);
  CHECK(float16(0x1p-24f).bits == 0x0001);
  CHECK(float16(0x1p-25f).bits == 0x0000);
  CHECK(float16(0x1.000002p-25f).bits == 0x0001);
  CHECK(float16(-0x1p-149f).bits == 0x8000);
  CHECK(bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  CHECK(bfloat16(0x1.fep127f).bits == 0x7f7f);
  CHECK(bfloat16(0x1p-149f).bits == 0x0000);
  // A NaN whose payload lies in the bits that are cut off is still one.
  const float low_payload = std::bit_cast<float>(0x7f800001u);
  CHECK(std::isnan(float(float16(low_payload))));
  CHECK(std::isnan(float(bfloat16(low_payload))));
  CHECK(float16(-0.0f) == float16(0.0f));
  CHECK(!(float16(std::nanf("")) == float16(std::nanf(""))));
}

TEST_CASE("conversions are constant expressions") {
  static_assert(float16(1.5f).bits == 0x3e00);
  static_assert(float(float16(0x1p-24f)) == 0x1p-24f);
  static_assert(bfloat16(-2.0f).bits == 0xc000);
  static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);
}

TEST_CASE_TEMPLATE("magnitudes order, and tell what is finite", T, float, double) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T ascending[] = {T(0), std::numeric_limits<T>::denorm_min(), T(1e-30), T(1), T(1e30), inf,
                         nan};
  for (std::size_t i = 1; i < std::size(ascending); ++i) {
    CHECK(magnitude(ascending[i - 1]) < magnitude(-ascending[i]));
  }
  CHECK(magnitude(T(-0.0)) == 0);
  CHECK(is_finite(std::numeric_limits<T>::max()));
  CHECK(is_finite(T(-0.0)));
  for (const T x : {inf, -inf, nan, -nan}) CHECK(!is_finite(x));
}

TEST_CASE("types have numbers and names") {
  CHECK(std::string(name_of(value_type<float>)) == "float");
  CHECK(std::string(name_of(value_type<double>)) == "double");
  CHECK(std::string(name_of(value_type<float16>)) == "float16");
  CHECK(std::string(name_of(value_type<bfloat16>)) == "bfloat16");
  CHECK(std::string(name_of(value_type<std::int8_t>)) == "int8");
  CHECK(std::string(name_of(value_type<std::uint64_t>)) == "uint64");
  const auto size = []<class T>() { return sizeof(T); };
  CHECK(with_gradient_type(ValueType::float64, size) == 8);
  CHECK(with_gradient_type(ValueType::float32, size) == 4);
  CHECK(with_gradient_type(ValueType::bfloat16, size) == 2);
  static_assert(std::same_as<arithmetic_t<const float16>, float>);
  static_assert(std::same_as<arithmetic_t<double>, double>);
  static_assert(std::same_as<bits_t<bfloat16>, std::uint16_t>);
  static_assert(!GradientValue<int> && ReducibleValue<std::int16_t> && !ReducibleValue<bool>);
}

}  // namespace

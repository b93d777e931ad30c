// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace pactrain {

/// The bits of `x` as a value of another type of the same size: `std::bit_cast`, which CUDA's
/// compiler refuses in device code unless users set a flag.
template <class To, class From>
PACTRAIN_FN constexpr To bits_as(const From& x) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}

/// IEEE 754 binary16 as sixteen bits: storage and conversion, no arithmetic.
/// Conversion from float rounds to nearest, ties to even; overflow gives infinity; a NaN stays one.
struct float16 {
  std::uint16_t bits = 0;

  constexpr float16() = default;
  PACTRAIN_FN constexpr explicit float16(float value) : bits(encode(value)) {}
  PACTRAIN_FN constexpr explicit operator float() const { return decode(bits); }
  PACTRAIN_FN static constexpr float16 from_bits(std::uint16_t bits) {
    float16 half;
    half.bits = bits;
    return half;
  }
  friend constexpr bool operator==(float16 a, float16 b) { return float(a) == float(b); }

 private:
  PACTRAIN_FN static constexpr std::uint16_t encode(float value) {
    const auto x = bits_as<std::uint32_t>(value);
    const std::uint32_t sign = x >> 16 & 0x8000u;
    const std::uint32_t size = x & 0x7fffffffu;
    if (size > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (size >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (size < 0x38800000u) {  // below the smallest normal half: let float addition round
      const float shifted = bits_as<float>(size) + 0.5f;
      return static_cast<std::uint16_t>(sign | (bits_as<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t odd = size >> 13 & 1u;
    return static_cast<std::uint16_t>(sign | ((size - 0x38000000u + 0xfffu + odd) >> 13));
  }
  PACTRAIN_FN static constexpr float decode(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000u) << 16;
    const std::uint32_t size = half & 0x7fffu;
    if (size >= 0x7c00u) return bits_as<float>(sign | 0x7f800000u | (size & 0x3ffu) << 13);
    if (size < 0x400u) {  // subnormal: an integer count of 2^-24
      const float value = static_cast<float>(size) * 0x1p-24f;
      return bits_as<float>(sign | bits_as<std::uint32_t>(value));
    }
    return bits_as<float>(sign | ((size << 13) + 0x38000000u));
  }
};

/// The upper half of a float as sixteen bits: storage and conversion, no arithmetic.
/// Conversion from float rounds to nearest, ties to even; overflow gives infinity; a NaN stays one.
struct bfloat16 {
  std::uint16_t bits = 0;

  constexpr bfloat16() = default;
  PACTRAIN_FN constexpr explicit bfloat16(float value) : bits(encode(value)) {}
  PACTRAIN_FN constexpr explicit operator float() const {
    return bits_as<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  PACTRAIN_FN static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 half;
    half.bits = bits;
    return half;
  }
  friend constexpr bool operator==(bfloat16 a, bfloat16 b) { return float(a) == float(b); }

 private:
  PACTRAIN_FN static constexpr std::uint16_t encode(float value) {
    const auto x = bits_as<std::uint32_t>(value);
    if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>(x >> 16 | 0x40u);
    return static_cast<std::uint16_t>((x + 0x7fffu + (x >> 16 & 1u)) >> 16);
  }
};

/// The types a gradient may have: float, double, float16, bfloat16.
template <class T>
concept GradientValue = std::same_as<T, float> || std::same_as<T, double> ||
                        std::same_as<T, float16> || std::same_as<T, bfloat16>;

/// The types a communicator sums: gradient values, and the integers that codecs add.
template <class T>
concept ReducibleValue =
    GradientValue<T> || std::same_as<T, std::int8_t> || std::same_as<T, std::int16_t> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t>;

namespace detail {
template <class T>
struct arithmetic {
  using type = T;
};
template <>
struct arithmetic<float16> {
  using type = float;
};
template <>
struct arithmetic<bfloat16> {
  using type = float;
};
}  // namespace detail

/// The type sums of `T` are made in: float for half types, `T` itself otherwise.
template <class T>
using arithmetic_t = typename detail::arithmetic<std::remove_cv_t<T>>::type;

/// The integer type with as many bits as `T`.
template <class T>
using bits_t = std::conditional_t<
    sizeof(T) == 8, std::uint64_t,
    std::conditional_t<sizeof(T) == 4, std::uint32_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;

/// The bits of a gradient value that are all ones exactly in infinities and NaNs.
template <GradientValue T>
inline constexpr bits_t<T> exponent_mask = [] {
  if constexpr (std::same_as<T, float>) return 0x7f800000u;
  else if constexpr (std::same_as<T, double>) return 0x7ff0000000000000u;
  else if constexpr (std::same_as<T, float16>) return std::uint16_t{0x7c00u};
  else return std::uint16_t{0x7f80u};
}();

/// A NaN that signals nothing; a constant, for device code may not ask std::numeric_limits.
template <class A>
inline constexpr A quiet_nan = std::numeric_limits<A>::quiet_NaN();
/// The largest finite value, a constant for the same reason.
template <class A>
inline constexpr A largest_finite = std::numeric_limits<A>::max();

/// The magnitude of `x` as an integer that orders as |x| does; NaNs come out above infinity.
template <GradientValue T>
PACTRAIN_FN constexpr bits_t<T> magnitude(const T& x) {
  constexpr auto sign = static_cast<bits_t<T>>(bits_t<T>{1} << (8 * sizeof(T) - 1));
  return static_cast<bits_t<T>>(bits_as<bits_t<T>>(x) & static_cast<bits_t<T>>(~sign));
}

/// Is `x` neither an infinity nor a NaN? By reference: under -ffast-math a compiler may assume that
/// a float passed by value is finite.
template <GradientValue T>
PACTRAIN_FN constexpr bool is_finite(const T& x) {
  constexpr bits_t<T> mask = exponent_mask<T>;
  return (bits_as<bits_t<T>>(x) & mask) != mask;
}

/// A value type by number, for data whose type is known at run time only.
enum class ValueType : std::uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int8,
  int16,
  int32,
  int64,
  uint32,
  uint64
};

namespace detail {
template <class T>
constexpr ValueType value_type_number() {
  if constexpr (std::same_as<T, float>) return ValueType::float32;
  else if constexpr (std::same_as<T, double>) return ValueType::float64;
  else if constexpr (std::same_as<T, float16>) return ValueType::float16;
  else if constexpr (std::same_as<T, bfloat16>) return ValueType::bfloat16;
  else if constexpr (std::same_as<T, std::int8_t>) return ValueType::int8;
  else if constexpr (std::same_as<T, std::int16_t>) return ValueType::int16;
  else if constexpr (std::same_as<T, std::int32_t>) return ValueType::int32;
  else if constexpr (std::same_as<T, std::int64_t>) return ValueType::int64;
  else if constexpr (std::same_as<T, std::uint32_t>) return ValueType::uint32;
  else return ValueType::uint64;
}
}  // namespace detail

/// The number of the value type `T`.
template <ReducibleValue T>
inline constexpr ValueType value_type = detail::value_type_number<T>();

/// The name of a value type, for messages.
constexpr const char* name_of(ValueType type) {
  constexpr const char* names[] = {"float", "double", "float16", "bfloat16", "int8",
                                   "int16", "int32",  "int64",   "uint32",   "uint64"};
  return names[static_cast<std::size_t>(type)];
}

/// Bytes of a value of a type.
constexpr std::size_t size_of(ValueType type) {
  constexpr std::size_t sizes[] = {4, 8, 2, 2, 1, 2, 4, 8, 4, 8};
  return sizes[static_cast<std::size_t>(type)];
}

/// Calls `f.template operator()<T>()` with the gradient value type that `type` numbers.
template <class F>
constexpr decltype(auto) with_gradient_type(ValueType type, F&& f) {
  switch (type) {
    case ValueType::float64:
      return f.template operator()<double>();
    case ValueType::float16:
      return f.template operator()<float16>();
    case ValueType::bfloat16:
      return f.template operator()<bfloat16>();
    default:
      return f.template operator()<float>();
  }
}

}  // namespace pactrain

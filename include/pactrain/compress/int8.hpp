// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/units.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

namespace pactrain {

namespace kernel {

/// The integer nearest to `x`, even on ties. Precondition: |x| is at most 127.
template <class A>
PACTRAIN_FN constexpr int round_to_even(A x) {
  // By whole numbers, since compilers that may reorder sums would take x + shift - shift for x.
  const int whole = static_cast<int>(x);
  const A rest = x - static_cast<A>(whole);
  const int up = (rest > A(0.5) || (rest == A(0.5) && whole % 2 != 0)) ? 1 : 0;
  const int down = (rest < A(-0.5) || (rest == A(-0.5) && whole % 2 != 0)) ? 1 : 0;
  return whole + up - down;
}

/// A block's absolute maximum, and value / maximum * 127 as a byte for each of its values.
template <class S>
struct EncodeInt8 {
  using A = arithmetic_t<S>;
  Units units;
  const S* values;
  std::byte* scales;
  std::int8_t* codes;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    const S* const x = values + unit.first;
    std::int8_t* const out = codes + unit.first;
    const bits_t<S> bits = largest_magnitude<false>(x, unit.size);
    const bool finite = bits < exponent_mask<S>;
    const A largest = finite ? cast<A>(bits_as<S>(bits)) : quiet_nan<A>;
    std::memcpy(scales + number * sizeof(A), &largest, sizeof(A));
    if (!(largest > A(0))) {
      for (std::size_t j = 0; j < unit.size; ++j) out[j] = 0;
      return;
    }
    for (std::size_t j = 0; j < unit.size; ++j) {
      out[j] = static_cast<std::int8_t>(round_to_even(cast<A>(x[j]) / largest * A(127)));
    }
  }
};

/// sum[i] += code / 127 * maximum.
template <class A>
struct DecodeInt8 {
  Units units;
  const std::byte* scales;
  const std::int8_t* codes;
  A* sum;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    A largest;
    // Copied, for wires of other ranks lie anywhere.
    std::memcpy(&largest, scales + number * sizeof(A), sizeof(A));
    const std::int8_t* const from = codes + unit.first;
    A* const to = sum + unit.first;
    for (std::size_t j = 0; j < unit.size; ++j) {
      to[j] += static_cast<A>(from[j]) / A(127) * largest;
    }
  }
};

}  // namespace kernel

/// Values travel in one byte each, rounded to nearest even in steps of 1/127 of the largest
/// magnitude among `block` values of a parameter: off by at most 1/254 of that. Scales differ
/// between ranks, so wires are gathered and decoded one by one. The wire is all scales (in the type
/// values are added in), then all bytes. A block with a non-finite value decodes to NaN.
struct Int8 {
  static constexpr bool additive = false;
  std::size_t block = 256;  ///< values under one scale, at least 1

  [[nodiscard]] std::uint64_t fingerprint() const { return Fingerprint{}('8')(block).value(); }

  template <Executor E>
  class on {
   public:
    explicit on(const Int8& options) : table_(options.block, options.block) {
      expects(options.block > 0,
              "a block of Int8 is empty (it is what shares a scale); choose 64 to 1024 values");
    }

    /// Bytes of one rank's wire for values of type S.
    template <GradientValue S>
    [[nodiscard]] std::size_t wire_bytes(const CodecCall& call) const {
      std::size_t values = 0;
      for (const PackedPart& part : call.parts) values += part.size;
      return table_.scale_count(call.parts) * sizeof(arithmetic_t<S>) + values;
    }
    template <GradientValue S>
    void encode(E& exec, const CodecCall& call, std::span<const S> values,
                std::span<std::byte> wire) {
      const kernel::Units& units = table_.cut(exec, call.parts);
      const std::size_t scale_bytes = units.count * sizeof(arithmetic_t<S>);
      exec.for_each(units.count, kernel::EncodeInt8<S>{
                                     units, values.data(), wire.data(),
                                     reinterpret_cast<std::int8_t*>(wire.data() + scale_bytes)});
    }
    template <GradientValue A>
    void decode_add(E& exec, const CodecCall& call, std::span<const std::byte> wire,
                    std::span<A> sum) {
      const kernel::Units& units = table_.cut(exec, call.parts);
      const std::size_t scale_bytes = units.count * sizeof(A);
      exec.for_each(
          units.count,
          kernel::DecodeInt8<A>{units, wire.data(),
                                reinterpret_cast<const std::int8_t*>(wire.data() + scale_bytes),
                                sum.data()});
    }

   private:
    UnitTable<E> table_;
  };
};

}  // namespace pactrain

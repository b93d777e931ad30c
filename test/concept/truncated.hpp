// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

/// The complete minimal codec of docs/concepts/compressor.md.
namespace example {

using namespace pactrain;

/// to[i] = the upper half of from[i].
template <class S>
struct Truncate {
  const S* from;
  bfloat16* to;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const auto x = static_cast<float>(from[i]);
    const auto half = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
    to[i] = is_finite(x) ? bfloat16::from_bits(half) : bfloat16(x);
  }
};

/// Values travel as the upper halves of floats, rounded towards zero.
struct Truncated {
  static constexpr bool additive = true;
  template <class S>
  using wires = WireTypes<bfloat16>;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0x7472756e; }

  template <Executor E>
  class on {
   public:
    explicit on(const Truncated&) {}
    template <GradientValue S>
    [[nodiscard]] ValueType wire_type(int) const {
      return ValueType::bfloat16;
    }
    template <GradientValue S>
    void encode(E& exec, const CodecCall&, std::span<const S> values, std::span<std::byte> wire) {
      exec.for_each(values.size(),
                    Truncate<S>{values.data(), reinterpret_cast<bfloat16*>(wire.data())});
    }
    template <GradientValue A>
    void decode_add(E& exec, const CodecCall&, std::span<const std::byte> wire, std::span<A> sum) {
      exec.for_each(sum.size(), kernel::AddTo<bfloat16, A>{
                                    reinterpret_cast<const bfloat16*>(wire.data()), sum.data()});
    }
  };
};

}  // namespace example

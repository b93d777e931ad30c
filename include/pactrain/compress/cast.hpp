// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// Values travel in two bytes, `Cast<float16>` or `Cast<bfloat16>`, rounded to nearest even and
/// added in float, so that averaging neither overflows nor loses small values. A value beyond the
/// type's range becomes an infinity, and the step is then refused like any non-finite one.
template <class H>
struct Cast {
  static_assert(std::same_as<H, float16> || std::same_as<H, bfloat16>,
                "pactrain: Cast is to float16 or bfloat16");
  static constexpr bool additive = true;
  template <class S>
  using wires = WireTypes<H>;
  [[nodiscard]] std::uint64_t fingerprint() const {
    return static_cast<std::uint64_t>(value_type<H>);
  }

  template <Executor E>
  class on {
   public:
    explicit on(const Cast&) {}
    template <GradientValue S>
    [[nodiscard]] ValueType wire_type(int) const {
      return value_type<H>;
    }
    template <GradientValue S>
    void encode(E& exec, const CodecCall&, std::span<const S> values, std::span<std::byte> wire) {
      for_each_fast(exec, values.size(),
                    kernel::Convert<S, H>{values.data(), reinterpret_cast<H*>(wire.data())});
    }
    template <GradientValue A>
    void decode_add(E& exec, const CodecCall&, std::span<const std::byte> wire, std::span<A> sum) {
      for_each_fast(exec, sum.size(),
                    kernel::AddTo<H, A>{reinterpret_cast<const H*>(wire.data()), sum.data()});
    }
  };
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/cast.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// Values travel as they are: lossless, and bit-equal to the dense sum at the kept entries.
struct Identity {
  static constexpr bool additive = true;
  template <class S>
  using wires = WireTypes<S>;
  static constexpr bool in_place = true;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }
  /// Half values come from, and are decoded to, the type of their sums.
  template <class T>
  [[nodiscard]] constexpr auto for_values_of() const {
    if constexpr (std::same_as<T, arithmetic_t<T>>) return *this;
    else return Cast<T>{};
  }

  template <Executor E>
  class on {
   public:
    explicit on(const Identity&) {}
    template <GradientValue S>
    [[nodiscard]] ValueType wire_type(int) const {
      return value_type<S>;
    }
    template <GradientValue S>
    void encode(E& exec, const CodecCall&, std::span<const S> values, std::span<std::byte> wire) {
      exec.copy(std::as_bytes(values), wire.first(values.size_bytes()));
    }
    template <GradientValue A>
    void decode_add(E& exec, const CodecCall&, std::span<const std::byte> wire, std::span<A> sum) {
      exec.for_each(sum.size(),
                    kernel::AddTo<A, A>{reinterpret_cast<const A*>(wire.data()), sum.data()});
    }
  };
};

}  // namespace pactrain

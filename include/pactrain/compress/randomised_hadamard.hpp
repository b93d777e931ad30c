// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/units.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/hadamard.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// A stage of a `Pipeline`: values are turned by a random rotation that all ranks share, after
/// which they are much alike, so that a quantiser of few levels loses less (THC, arXiv 2302.08545).
/// Each 1024 values of a parameter are multiplied by random signs and by a Hadamard matrix. What is
/// left over is cut into powers of two, not padded as in THC, so that nothing is added to the wire.
/// A non-finite value reaches its 1024; a zero beside other values does not stay one.
struct RandomisedHadamard {
  std::uint64_t seed = 42;  ///< of the signs, which also change with the step; alike on all ranks

  [[nodiscard]] std::uint64_t fingerprint() const { return Fingerprint{}('H')(seed).value(); }

  template <Executor E>
  class on {
   public:
    explicit on(const RandomisedHadamard& options) : seed_(options.seed), table_(chunk, chunk) {}

    template <GradientValue S>
    void forward(E& exec, const CodecCall& call, std::span<const S> values,
                 std::span<arithmetic_t<S>> turned) {
      const kernel::Units& units = table_.cut(exec, call.parts);
      exec.for_each(units.count, kernel::Rotate<S>{units, of(call), values.data(), turned.data()});
    }
    /// Adds what `turned` came from to `sum`; `turned` is used up.
    template <GradientValue A>
    void inverse_add(E& exec, const CodecCall& call, std::span<A> turned, std::span<A> sum) {
      const kernel::Units& units = table_.cut(exec, call.parts);
      exec.for_each(units.count, kernel::RotateBack<A>{units, of(call), turned.data(), sum.data()});
    }

   private:
    static constexpr std::size_t chunk = 1024;
    [[nodiscard]] Random of(const CodecCall& call) const { return {seed_, call.random.step}; }

    std::uint64_t seed_;
    UnitTable<E> table_;
  };
};

}  // namespace pactrain

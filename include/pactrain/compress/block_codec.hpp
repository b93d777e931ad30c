// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/units.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/quantise.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// The `on<E>` of a gathered codec whose values share numbers by block and have codes of a few bits
/// each, as its `Rule` says (kernel/quantise.hpp). The wire is the numbers of all blocks, in the
/// type values are added in, then all codes, packed little end first; each block's begin at a byte.
template <class Rule, Executor E>
class BlockCodec {
 public:
  /// `block` values a block; 0: one block per parameter.
  BlockCodec(const Rule& rule, std::size_t block)
      : rule_(rule),
        fused_(block != 0 && block <= unit_length),
        table_(block, fused_ ? block : unit_length, rule.bits()) {}

  /// Bytes of one rank's wire for values of type S.
  template <GradientValue S>
  [[nodiscard]] std::size_t wire_bytes(const CodecCall& call) const {
    return number_bytes<arithmetic_t<S>>(table_.scale_count(call.parts)) +
           table_.code_bytes(call.parts);
  }
  template <GradientValue S>
  void encode(E& exec, const CodecCall& call, std::span<const S> values,
              std::span<std::byte> wire) {
    const kernel::Units& units = table_.cut(exec, call.parts);
    std::byte* const codes = wire.data() + number_bytes<arithmetic_t<S>>(units.scale_count);
    const bool measured = !fused_ && rule_.numbers() > 0;
    if (measured) {
      using Moments = typename Rule::template Moments<S>;
      const auto moments = moments_.template take<Moments>(exec, units.count);
      for_each_fast(exec, units.count,
                    kernel::MeasureUnits<Rule, S>{rule_, units, values.data(), moments.data()});
      exec.for_each(units.scale_count,
                    kernel::FinishBlocks<Rule, S>{rule_, units, moments.data(), wire.data()});
    }
    for_each_fast(exec, units.count,
                  kernel::EncodeUnits<Rule, S>{rule_, units, measured, values.data(), wire.data(),
                                               codes, call.random});
  }
  template <GradientValue A>
  void decode_add(E& exec, const CodecCall& call, std::span<const std::byte> wire,
                  std::span<A> sum) {
    const kernel::Units& units = table_.cut(exec, call.parts);
    const std::byte* const codes = wire.data() + number_bytes<A>(units.scale_count);
    for_each_fast(exec, units.count,
                  kernel::DecodeUnits<Rule, A>{rule_, units, wire.data(), codes, sum.data()});
  }

 private:
  /// A unit is the work of one kernel call; a block up to this long is one.
  static constexpr std::size_t unit_length = 4096;

  template <class A>
  [[nodiscard]] std::size_t number_bytes(std::size_t blocks) const {
    return blocks * rule_.numbers() * sizeof(A);
  }

  Rule rule_;
  bool fused_;  ///< is each block one unit?
  UnitTable<E> table_;
  Scratch<E> moments_;
};

}  // namespace pactrain

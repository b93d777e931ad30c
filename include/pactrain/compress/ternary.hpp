// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/units.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/ternary.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace pactrain {

/// Values become -1, 0 or 1 times a scale that all ranks share: TernGrad (Wen et al., NeurIPS 2017)
/// with its scaler sharing, as PacTrain uses it. A value x becomes its sign with probability
/// |x| / scale, else 0, so the mean over draws is x (to 2^-24 of the scale) where nothing is cut.
///
/// A scale is the largest magnitude under it on any rank; with `clip`, no more than so many times
/// the root mean square of the values under it (kept values, not the pruned zeros; on the rank
/// where that is largest). The mean square is about zero, where gradients centre, so that parts of
/// one value or of equal ones are not cut away. Integers on the wire hold the sum over ranks: one
/// byte up to 127 ranks, two up to 32767, then four. Non-finite values count as zero; the flag that
/// reports them travels beside the bounds.
struct Ternary {
  static constexpr bool additive = true;
  template <class S>
  using wires = WireTypes<std::int8_t, std::int16_t, std::int32_t>;
  std::size_t block = 0;  ///< values under one scale; 0: one scale per parameter
  double clip = 0.0;      ///< in root mean squares; 0: none. TernGrad's is 2.5

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}('T')(block)(clip).value();
  }

  template <Executor E>
  class on {
   public:
    explicit on(const Ternary& options) : clip_(options.clip), table_(options.block, unit_length) {
      expects(options.clip >= 0.0 && options.clip <= std::numeric_limits<double>::max(), [&] {
        return "clip is " + std::to_string(options.clip) +
               " (multiples of the root mean square beyond which values are cut); choose a "
               "positive number, or 0 for none";
      });
    }

    template <GradientValue S>
    [[nodiscard]] ValueType wire_type(int ranks) const {
      return ranks <= 127 ? ValueType::int8 : ranks <= 32767 ? ValueType::int16 : ValueType::int32;
    }
    /// One bound per scale, in the order of the values.
    [[nodiscard]] std::size_t bounds_count(const CodecCall& call) const {
      return table_.scale_count(call.parts);
    }
    template <GradientValue S>
    void bounds(E& exec, const CodecCall& call, std::span<const S> values, std::span<float> out) {
      const kernel::Units& units = table_.cut(exec, call.parts);
      const auto spread = spread_.template take<kernel::Spread>(exec, units.count);
      for_each_fast(exec, units.count,
                    kernel::MeasureSpread<S>{units, values.data(), clip_ > 0.0, spread.data()});
      exec.for_each(units.scale_count,
                    kernel::BoundSpread{units, spread.data(), clip_, out.data()});
    }
    template <GradientValue S>
    void encode(E& exec, const CodecCall& call, std::span<const S> values,
                std::span<std::byte> wire) {
      const kernel::Units& units = table_.cut(exec, call.parts);
      with_wire<S>(call.ranks, [&]<class W>() {
        for_each_fast(exec, units.count,
                      kernel::EncodeTernary<S, W>{units, values.data(), call.agreed.data(),
                                                  call.random, reinterpret_cast<W*>(wire.data())});
      });
    }
    template <GradientValue A>
    void decode_add(E& exec, const CodecCall& call, std::span<const std::byte> wire,
                    std::span<A> sum) {
      const kernel::Units& units = table_.cut(exec, call.parts);
      with_wire<A>(call.ranks, [&]<class W>() {
        for_each_fast(exec, units.count,
                      kernel::DecodeTernary<W, A>{units, reinterpret_cast<const W*>(wire.data()),
                                                  call.agreed.data(), sum.data()});
      });
    }

   private:
    static constexpr std::size_t unit_length = 1024;

    template <class S, class F>
    void with_wire(int ranks, F f) const {
      switch (wire_type<S>(ranks)) {
        case ValueType::int8:
          return f.template operator()<std::int8_t>();
        case ValueType::int16:
          return f.template operator()<std::int16_t>();
        default:
          return f.template operator()<std::int32_t>();
      }
    }

    double clip_;
    UnitTable<E> table_;
    Scratch<E> spread_;
  };
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/units.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/grid.hpp>
#include <pactrain/kernel/ternary.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pactrain {

/// The `on<E>` of an additive codec whose values are codes of a `Grid` (kernel/grid.hpp) over a
/// range that ranks agree on: up to the largest magnitude under a bound on any rank or, with
/// `clip`, to so many root mean squares, where that is less.
template <class Grid, Executor E>
class GridCodec {
 public:
  /// `block` values share a bound; 0: all of a parameter.
  GridCodec(const Grid& grid, std::size_t block, double clip)
      : grid_(grid), clip_(clip), table_(block, unit_length) {
    expects(clip >= 0.0 && clip <= static_cast<double>(largest_finite<float>), [&] {
      return "clip is " + std::to_string(clip) +
             " (multiples of the root mean square beyond which values are cut); choose a positive "
             "number, or 0 for none";
    });
  }

  template <GradientValue S>
  [[nodiscard]] ValueType wire_type(int ranks) const {
    const std::int64_t most = std::int64_t{ranks} * grid_.reach();
    return most <= 127 ? ValueType::int8 : most <= 32767 ? ValueType::int16 : ValueType::int32;
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
    exec.for_each(units.scale_count, kernel::BoundSpread{units, spread.data(), clip_, out.data()});
  }
  template <GradientValue S>
  void encode(E& exec, const CodecCall& call, std::span<const S> values,
              std::span<std::byte> wire) {
    const kernel::Units& units = table_.cut(exec, call.parts);
    with_wire<S>(call.ranks, [&]<class W>() {
      exec.for_each(units.count,
                    kernel::EncodeGrid<Grid, S, W>{grid_, units, values.data(), call.agreed.data(),
                                                   call.random, reinterpret_cast<W*>(wire.data())});
    });
  }
  template <GradientValue A>
  void decode_add(E& exec, const CodecCall& call, std::span<const std::byte> wire,
                  std::span<A> sum) {
    const kernel::Units& units = table_.cut(exec, call.parts);
    with_wire<A>(call.ranks, [&]<class W>() {
      exec.for_each(units.count,
                    kernel::DecodeGrid<W, A>{units, reinterpret_cast<const W*>(wire.data()),
                                             call.agreed.data(), grid_.reach(), sum.data()});
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

  Grid grid_;
  double clip_;
  UnitTable<E> table_;
  Scratch<E> spread_;
};

}  // namespace pactrain

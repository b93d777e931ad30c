// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/units.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace pactrain {

/// The digit that `x` becomes for a number `u` drawn from [0, 1): its sign if u < |x| / scale, else
/// 0; 0 for what is not finite. Its mean over `u`, times `scale`, is `x`, cut to [-scale, scale].
template <std::floating_point A>
PACTRAIN_FN constexpr int ternary_digit(A x, A scale, float u) {
  const A size = bits_as<A>(magnitude(x));
  // Masks rather than branches: the outcome is random, and vectors have no branches.
  const int hit =
      static_cast<int>(static_cast<A>(u) < size / scale) & static_cast<int>(is_finite(x));
  return -hit & (static_cast<int>(x > A(0)) - static_cast<int>(x < A(0)));
}

namespace kernel {

/// The largest finite magnitude and the sum of squares of a unit's finite values.
struct Spread {
  double largest, squares;
};
template <class S>
struct MeasureSpread {
  Units units;
  const S* values;
  bool with_squares;
  Spread* spread;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    const S* const x = values + unit.first;
    const bits_t<S> largest = largest_magnitude<true>(x, unit.size);
    constexpr std::size_t lanes = 8;  // a fixed order that vectors can follow
    double sums[lanes] = {};
    if (with_squares) {
      std::size_t j = 0;
      for (; j + lanes <= unit.size; j += lanes) {
        for (std::size_t i = 0; i < lanes; ++i) sums[i] += square(x[j + i]);
      }
      for (std::size_t i = 0; j + i < unit.size; ++i) sums[i] += square(x[j + i]);
    }
    double squares = 0;
    for (const double sum : sums) squares += sum;
    spread[number] = {static_cast<double>(cast<arithmetic_t<S>>(bits_as<S>(largest))), squares};
  }

 private:
  PACTRAIN_FN static double square(S x) {
    const auto value = static_cast<double>(cast<arithmetic_t<S>>(x));
    return is_finite(x) ? value * value : 0.0;
  }
};

/// bound[scale] = the smaller of the largest magnitude and `clip` times the root mean square.
struct BoundTernary {
  Units units;
  const Spread* spread;
  double clip;
  float* bound;
  PACTRAIN_FN void operator()(std::size_t scale) const {
    const Units::Range range = units.under(scale);
    double largest = 0, squares = 0;
    for (std::size_t i = range.first; i < range.last; ++i) {
      largest = largest < spread[i].largest ? spread[i].largest : largest;
      squares += spread[i].squares;
    }
    if (clip > 0 && squares > 0) {
      const double cut = clip * std::sqrt(squares / static_cast<double>(range.values));
      largest = cut < largest ? cut : largest;
    }
    bound[scale] = not_below(largest);
  }

  static constexpr float largest_float = std::numeric_limits<float>::max();
  /// The least float that is not below `x` >= 0, or the largest one.
  PACTRAIN_FN static float not_below(double x) {
    if (!(x < static_cast<double>(largest_float))) return largest_float;
    const float near = static_cast<float>(x);
    if (static_cast<double>(near) >= x) return near;
    return bits_as<float>(bits_as<std::uint32_t>(near) + 1);
  }
};

/// wire[i] = the ternary digit of value i.
template <class S, class W>
struct EncodeTernary {
  Units units;
  const S* values;
  const float* scales;
  Random random;
  W* wire;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    const S* const x = values + unit.first;
    W* const out = wire + unit.first;
    const A scale = static_cast<A>(scales[unit.scale]);
    if (!(scale > A(0))) {
      for (std::size_t j = 0; j < unit.size; ++j) out[j] = W{0};
      return;
    }
    constexpr std::size_t group = 16, width = 256;
    float u[width];
    const std::size_t end = unit.at + unit.size;
    for (std::size_t at = unit.at; at < end;) {
      // Batches, so that numbers stored one by one have reached the cache when vectors load them.
      const std::size_t begin = at / group * group;
      const std::size_t stop = begin + width < end ? begin + width : end;
      for (std::size_t i = begin; i < stop; i += group) {
        uniforms(random, unit.part, i / group, u + (i - begin));
      }
      digits(x + (at - unit.at), scale, u + (at - begin), stop - at, out + (at - unit.at));
      at = stop;
    }
  }

 private:
  using A = arithmetic_t<S>;
  PACTRAIN_FN static void digits(const S* x, A scale, const float* u, std::size_t n, W* out) {
    constexpr std::size_t width = 16;
    std::size_t i = 0;
    for (; i + width <= n; i += width) {
      A value[width];
      int digit[width];  // local, so that stores of bytes, which may alias anything, come last
      for (std::size_t j = 0; j < width; ++j) value[j] = cast<A>(x[i + j]);
      for (std::size_t j = 0; j < width; ++j) digit[j] = ternary_digit(value[j], scale, u[i + j]);
      for (std::size_t j = 0; j < width; ++j) out[i + j] = static_cast<W>(digit[j]);
    }
    for (; i < n; ++i) out[i] = static_cast<W>(ternary_digit(cast<A>(x[i]), scale, u[i]));
  }
};

/// sum[i] += digit (or sum of digits) i times its scale.
template <class W, class A>
struct DecodeTernary {
  Units units;
  const W* wire;
  const float* scales;
  A* sum;
  PACTRAIN_FN void operator()(std::size_t number) const {
    const Unit unit = units(number);
    const A scale = static_cast<A>(scales[unit.scale]);
    const W* const digits = wire + unit.first;
    A* const to = sum + unit.first;
    for (std::size_t j = 0; j < unit.size; ++j) to[j] += static_cast<A>(digits[j]) * scale;
  }
};

}  // namespace kernel

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
      exec.for_each(units.count,
                    kernel::MeasureSpread<S>{units, values.data(), clip_ > 0.0, spread.data()});
      exec.for_each(units.scale_count,
                    kernel::BoundTernary{units, spread.data(), clip_, out.data()});
    }
    template <GradientValue S>
    void encode(E& exec, const CodecCall& call, std::span<const S> values,
                std::span<std::byte> wire) {
      const kernel::Units& units = table_.cut(exec, call.parts);
      with_wire<S>(call.ranks, [&]<class W>() {
        exec.for_each(units.count,
                      kernel::EncodeTernary<S, W>{units, values.data(), call.agreed.data(),
                                                  call.random, reinterpret_cast<W*>(wire.data())});
      });
    }
    template <GradientValue A>
    void decode_add(E& exec, const CodecCall& call, std::span<const std::byte> wire,
                    std::span<A> sum) {
      const kernel::Units& units = table_.cut(exec, call.parts);
      with_wire<A>(call.ranks, [&]<class W>() {
        exec.for_each(units.count,
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

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/values.hpp>
#include <suite/world.hpp>

#include <pactrain/compress/cast.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/compress/int4.hpp>
#include <pactrain/compress/int8.hpp>
#include <pactrain/compress/min_max.hpp>
#include <pactrain/compress/natural.hpp>
#include <pactrain/compress/qsgd.hpp>
#include <pactrain/compress/sign.hpp>
#include <pactrain/compress/ternary.hpp>
#include <pactrain/compress/uniform_homomorphic.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

/// A codec and what it is judged by, knowing no backend.
namespace pactrain::test::codec {

using Bytes = std::vector<std::byte>;
using Parts = std::vector<PackedPart>;

/// Parts of these sizes that follow each other.
inline Parts parts_of(const std::vector<std::size_t>& sizes) {
  Parts parts;
  std::size_t first = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    parts.push_back({i, first, sizes[i]});
    first += sizes[i];
  }
  return parts;
}
inline std::size_t total(const Parts& parts) {
  return parts.empty() ? 0 : parts.back().first + parts.back().size;
}
inline const std::vector<std::vector<std::size_t>>& layouts() {
  static const std::vector<std::vector<std::size_t>> all{{},
                                                         {0},
                                                         {1},
                                                         {3},
                                                         {63},
                                                         {64},
                                                         {65},
                                                         {1000},
                                                         {1025},
                                                         {2500},
                                                         {1, 1, 1, 1, 1},
                                                         {65, 0, 1, 300, 7, 1030, 0, 3}};
  return all;
}

/// The wire of a codec by blocks: how many numbers a block has, how many bits a code, and how many
/// values a block (0: all of a parameter).
struct Layout {
  std::size_t numbers, bits, block;
};
inline Layout layout_of(const Int8& z) { return {1, 8, z.block}; }
inline Layout layout_of(const Int4& z) {
  return z.scale > 0 ? Layout{0, 4, 0} : Layout{1, 4, z.block};
}
inline Layout layout_of(const Sign& z) {
  return {z.two_means ? std::size_t{2} : 1, z.zeros ? std::size_t{2} : 1, z.block};
}
inline Layout layout_of(const QSGD& z) {
  return {1, static_cast<std::size_t>(std::ceil(std::log2(2.0 * double(z.levels) + 1))), z.block};
}
inline Layout layout_of(const Natural&) { return {0, 9, 1024}; }
inline Layout layout_of(const MinMax& z) { return {2, z.bits, z.block}; }
template <class Z>
concept ByBlock = requires(const Z& z) { layout_of(z); };

/// How many values share a scale (0: all of a parameter); not for codecs without scales.
inline std::size_t block_of(const Ternary& codec) { return codec.block; }
inline std::size_t block_of(const UniformHomomorphic& codec) { return codec.block; }
template <ByBlock Z>
std::size_t block_of(const Z& codec) {
  return layout_of(codec).block;
}
inline std::size_t scales_in(const auto& codec, std::size_t values) {
  const std::size_t block = block_of(codec);
  return block == 0 ? std::size_t{values > 0} : (values + block - 1) / block;
}
/// The bytes of the codes of a parameter: whole bytes for each block.
inline std::size_t code_bytes(const Layout& layout, std::size_t values) {
  const std::size_t block = layout.block == 0 ? std::max<std::size_t>(values, 1) : layout.block;
  const auto bytes = [&](std::size_t n) { return (n * layout.bits + 7) / 8; };
  return values / block * bytes(block) + bytes(values % block);
}
/// Does a zero beside other values stay one?
template <class Z>
bool keeps_zeros(const Z& codec) {
  if constexpr (std::same_as<Z, Sign>) return codec.zeros;
  return !std::same_as<Z, MinMax>;
}
/// Is a value that it decoded encoded as it was?
template <class Z>
bool is_idempotent(const Z& codec) {
  if constexpr (std::same_as<Z, Int4>) return codec.scale > 0;
  return !std::same_as<Z, Ternary> && !std::same_as<Z, QSGD> && !std::same_as<Z, MinMax> &&
         !std::same_as<Z, Sign> && !std::same_as<Z, UniformHomomorphic>;
}

/// Bytes [first, first + size) of a wire.
struct Region {
  std::size_t first, size;
};
/// Where the wire of a call must be what parameter `i` of it became.
template <class S, class Z>
std::vector<Region> regions(const Z& codec, const Parts& parts, std::size_t i, int ranks) {
  const PackedPart& part = parts[i];
  if constexpr (ByBlock<Z>) {
    const Layout layout = layout_of(codec);
    std::size_t scales = 0, all_scales = 0, codes = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (p < i) scales += scales_in(codec, parts[p].size);
      if (p < i) codes += code_bytes(layout, parts[p].size);
      all_scales += scales_in(codec, parts[p].size);
    }
    const std::size_t shared = layout.numbers * sizeof(arithmetic_t<S>);
    return {{scales * shared, scales_in(codec, part.size) * shared},
            {all_scales * shared + codes, code_bytes(layout, part.size)}};
  } else {
    std::size_t width = sizeof(S);
    if constexpr (std::same_as<Z, Ternary>) width = ranks <= 127 ? 1 : ranks <= 32767 ? 2 : 4;
    else if constexpr (std::same_as<Z, UniformHomomorphic>) {
      const std::size_t most = (codec.levels - 1) / 2 * static_cast<std::size_t>(ranks);
      width = most <= 127 ? 1 : most <= 32767 ? 2 : 4;
    } else if constexpr (!std::same_as<Z, Identity>) {
      width = 2;
    }
    return {{part.first * width, part.size * width}};
  }
}
/// The size of a wire, by formula.
template <class S, class Z>
std::size_t wire_size(const Z& codec, const Parts& parts, int ranks) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const Region region : regions<S>(codec, parts, i, ranks)) bytes += region.size;
  }
  return bytes;
}
/// The bytes of parameter `i` in a wire.
template <class S, class Z>
Bytes bytes_of(const Z& codec, const Parts& parts, std::size_t i, int ranks, const Bytes& wire) {
  Bytes bytes;
  for (const Region region : regions<S>(codec, parts, i, ranks)) {
    const auto from = wire.begin() + static_cast<std::ptrdiff_t>(region.first);
    bytes.insert(bytes.end(), from, from + static_cast<std::ptrdiff_t>(region.size));
  }
  return bytes;
}

/// A codec for one call of values of type S, in an executor's memory, with guards behind all that
/// it writes.
template <GradientValue S, Executor E, class Z>
class Coder {
 public:
  using A = arithmetic_t<S>;
  static constexpr std::size_t guard = 16;

  Coder(E& exec, const Z& options, Parts parts, int ranks = 1, Random random = {})
      : exec_(exec), codec_(options), parts_(std::move(parts)), call_{parts_, ranks, random, {}} {}
  Coder(const Coder&) = delete;

  [[nodiscard]] std::size_t wire_bytes() const {
    if constexpr (Z::additive) {
      const std::size_t sizes[] = {4, 8, 2, 2, 1, 2, 4};
      return total(parts_) * sizes[static_cast<int>(codec_.template wire_type<S>(call_.ranks))];
    } else {
      return codec_.template wire_bytes<S>(call_);
    }
  }
  void draw(Random random) { call_.random = random; }
  /// This rank's bounds, and the use of `agreed` from now on.
  [[nodiscard]] std::vector<float> bounds(const std::vector<S>& values) {
    if constexpr (has_bounds<Z, E>) {
      const Array<S, E> x(exec_, std::span<const S>(values));
      const std::size_t n = codec_.bounds_count(call_);
      const Array<float, E> out(exec_, n + guard, -7.0f);
      codec_.bounds(exec_, call_, x.view(), out.span().first(n));
      std::vector<float> bounds = out.read();
      CHECK(std::all_of(bounds.end() - guard, bounds.end(), [](float f) { return f == -7.0f; }));
      bounds.resize(n);
      return bounds;
    } else {
      return {};
    }
  }
  void agree(const std::vector<float>& bounds) {
    agreed_.clear();
    agreed_.emplace_back(exec_, std::span<const float>(bounds));
    call_.agreed = agreed_.back().view();
  }
  [[nodiscard]] Bytes encode(const std::vector<S>& values) {
    const Array<S, E> x(exec_, std::span<const S>(values));
    const std::size_t n = wire_bytes();
    const Array<std::byte, E> wire(exec_, n + guard, std::byte{0xa5});
    codec_.encode(exec_, call_, x.view(), wire.span().first(n));
    Bytes bytes = wire.read();
    CHECK(std::all_of(bytes.end() - guard, bytes.end(),
                      [](std::byte b) { return b == std::byte{0xa5}; }));
    bytes.resize(n);
    return bytes;
  }
  /// Adds what a wire, `offset` bytes behind an aligned address, means to `sum`.
  void decode_add(const Bytes& wire, std::vector<A>& sum, std::size_t offset = 0) {
    const std::size_t n = sum.size();
    const Array<std::byte, E> from(exec_, std::span<const std::byte>(wire), offset);
    sum.resize(n + guard, A(-7));
    const Array<A, E> to(exec_, std::span<const A>(sum));
    codec_.decode_add(exec_, call_, from.view(), to.span().first(n));
    sum = to.read();
    CHECK(std::all_of(sum.end() - guard, sum.end(), [](A x) { return x == A(-7); }));
    sum.resize(n);
  }
  [[nodiscard]] std::vector<A> decode(const Bytes& wire, std::size_t offset = 0) {
    std::vector<A> sum(total(parts_));
    decode_add(wire, sum, offset);
    return sum;
  }
  /// What one rank's values become alone.
  [[nodiscard]] std::vector<A> round_trip(const std::vector<S>& values) {
    agree(bounds(values));
    return decode(encode(values));
  }

 private:
  E& exec_;
  typename Z::template on<E> codec_;
  Parts parts_;
  CodecCall call_;
  std::vector<Array<float, E>> agreed_;
};

/// Codecs whose half values add nothing to what `Int8` shows of them.
template <class S, class F>
void for_more_codecs(F f) {
  f.template operator()<S>(Int4{.scale = 64});
  f.template operator()<S>(Natural{});
  f.template operator()<S>(UniformHomomorphic{.levels = 15, .block = 100});  // one is at zero
  constexpr std::size_t blocks[] = {3, 256, 5000};
  for (const std::size_t block : blocks) {
    CAPTURE(block);
    f.template operator()<S>(Int4{.block = block});
    f.template operator()<S>(Sign{.block = block, .zeros = true});
    f.template operator()<S>(QSGD{.levels = block, .block = block});
    f.template operator()<S>(MinMax{.bits = 3, .block = block, .stochastic = block == 3});
  }
  for (const std::size_t block : {0u, 100u}) {
    CAPTURE(block);
    f.template operator()<S>(Sign{.block = block});
    f.template operator()<S>(Sign{.block = block, .two_means = true});
  }
}
/// Calls `f.operator()<S>(codec)` for every codec and value type.
template <class F>
void for_codecs(F f) {
  for_gradient_types([&]<class S>() {
    CAPTURE(name_of(value_type<S>));
    // A half value that is decoded travels as a cast to its own type.
    if constexpr (std::same_as<S, arithmetic_t<S>>) f.template operator()<S>(Identity{});
    f.template operator()<S>(Cast<float16>{});
    f.template operator()<S>(Cast<bfloat16>{});
    constexpr std::size_t blocks[] = {0, 3, 16, 100, 256, 1500};
    for (const std::size_t block : blocks) {
      CAPTURE(block);
      f.template operator()<S>(Ternary{.block = block});
      f.template operator()<S>(Ternary{.block = block, .clip = 2.5});
      if (block > 0) f.template operator()<S>(Int8{.block = block});
    }
    if constexpr (std::same_as<S, arithmetic_t<S>>) for_more_codecs<S>(f);
  });
}
/// Calls `f.operator()<S>(codec, parts)` for every layout, too.
template <class F>
void for_calls(F f) {
  for_codecs([&]<class S>(auto codec) {
    for (const auto& sizes : layouts()) {
      CAPTURE(sizes.size());
      CAPTURE(total(parts_of(sizes)));
      f.template operator()<S>(codec, parts_of(sizes));
    }
  });
}

template <GradientValue S>
double number(S x) {
  return static_cast<double>(static_cast<arithmetic_t<S>>(x));
}
template <GradientValue S>
S value(double x) {
  return static_cast<S>(static_cast<arithmetic_t<S>>(x));
}
/// The largest magnitude among the values that share a scale with entry `at` of a part.
template <class S>
double largest_beside(const auto& codec, const std::vector<S>& values, const PackedPart& part,
                      std::size_t at) {
  const std::size_t block = block_of(codec) == 0 ? part.size : block_of(codec);
  const std::size_t first = at / block * block;
  double largest = 0;
  for (std::size_t i = first; i < std::min(first + block, part.size); ++i) {
    const double size = std::abs(number(values[part.first + i]));
    if (std::isfinite(size)) largest = std::max(largest, size);
  }
  return largest;
}

}  // namespace pactrain::test::codec

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/block_codec.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/quantise_rules.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace pactrain {

/// Values travel in four bits each, as integers from -8 to 7: LoCo (Xie et al., arXiv 2407.04480;
/// with `ErrorFeedback{.gamma = 0.2, .reset_period = 512, .storage = ValueType::int8}`). Wires are
/// gathered. Two codes share a byte, the first in its low nibble; an odd one out is padded.
///
/// By default steps are an eighth of the largest magnitude among `block` values of a parameter, as
/// in DeepSpeed's ZeRO++: a negative largest value is exact, a positive one comes back as 7/8 of
/// itself, others are off by at most a sixteenth; a block with a non-finite value decodes to NaN.
/// With `scale` > 0 steps are 1 / scale for all values, and nothing but codes travels: the code is
/// value * scale, to the nearest even, cut to [-8, 7]; non-finite values count as zero.
struct Int4 {
  static constexpr bool additive = false;
  double scale = 0.0;       ///< codes per unit of value; 0: by block
  std::size_t block = 256;  ///< values under one scale, at least 1

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}('4')(scale)(block).value();
  }

  template <Executor E>
  class on : public BlockCodec<kernel::Int4Rule, E> {
   public:
    explicit on(const Int4& options)
        : BlockCodec<kernel::Int4Rule, E>(kernel::Int4Rule(options.scale),
                                          options.scale > 0 ? 0 : options.block) {
      expects(options.scale == 0 || (options.scale >= std::numeric_limits<float>::min() &&
                                     options.scale <= std::numeric_limits<float>::max()),
              [&] {
                return "the scale of Int4 is " + std::to_string(options.scale) +
                       " (codes per unit of value, which a float must hold); choose a positive "
                       "number such as 2^17, or 0 for scales by block";
              });
      expects(options.block > 0,
              "a block of Int4 is empty (it is what shares a scale); choose 64 to 1024 values");
    }
  };
};

}  // namespace pactrain

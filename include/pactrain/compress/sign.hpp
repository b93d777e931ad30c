// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/block_codec.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/quantise_rules.hpp>

#include <cstddef>
#include <cstdint>

namespace pactrain {

/// Values travel as their signs, one bit each, times a magnitude that `block` values of a parameter
/// share. It is biased: use it with `ErrorFeedback`. Wires are gathered and averaged.
///
/// The magnitude is the mean magnitude, which keeps the share L1^2 / (n L2^2) of a block's energy:
/// EF-signSGD (Karimireddy et al., arXiv 1901.09847; per parameter there). With `two_means` values
/// on each side of zero become their own mean: 1-bit SGD (Seide et al., Interspeech 2014; by matrix
/// column there). A zero counts as not negative, and becomes a mean; a block of zeros stays zero.
/// With `zeros` values have two bits, zeros stay zeros, and means are over the others. A block with
/// a non-finite value decodes to NaN.
struct Sign {
  static constexpr bool additive = false;
  std::size_t block = 1024;  ///< values that share a magnitude; 0: all of a parameter
  bool two_means = false;
  bool zeros = false;

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}('S')(block)(two_means)(zeros).value();
  }

  template <Executor E>
  class on : public BlockCodec<kernel::SignRule, E> {
   public:
    explicit on(const Sign& options)
        : BlockCodec<kernel::SignRule, E>({options.two_means, options.zeros}, options.block) {}
  };
};

}  // namespace pactrain

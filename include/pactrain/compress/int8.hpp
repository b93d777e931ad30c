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

namespace pactrain {

/// Values travel in one byte each, rounded to nearest even in steps of 1/127 of the largest
/// magnitude among `block` values of a parameter: off by at most 1/254 of that. Scales differ
/// between ranks, so wires are gathered and decoded one by one. The wire is all scales (in the type
/// values are added in), then all bytes. A block with a non-finite value decodes to NaN.
struct Int8 {
  static constexpr bool additive = false;
  std::size_t block = 256;  ///< values under one scale, at least 1

  [[nodiscard]] std::uint64_t fingerprint() const { return Fingerprint{}('8')(block).value(); }

  template <Executor E>
  class on : public BlockCodec<kernel::Int8Rule, E> {
   public:
    explicit on(const Int8& options)
        : BlockCodec<kernel::Int8Rule, E>(kernel::Int8Rule{}, options.block) {
      expects(options.block > 0,
              "a block of Int8 is empty (it is what shares a scale); choose 64 to 1024 values");
    }
  };
};

}  // namespace pactrain

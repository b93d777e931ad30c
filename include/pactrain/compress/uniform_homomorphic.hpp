// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/grid_codec.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/grid.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace pactrain {

/// Values become integers whose sum over ranks means the sum of values: the uniform homomorphic
/// compression of THC (Li et al., NSDI 2024, arXiv 2302.08545). Ranks agree on a bound B; a value
/// is rounded by chance to one of `levels` evenly spaced numbers from -B to B, so that the mean
/// over draws is the value, where nothing is cut. Codes are centred, so that a sum needs no count
/// of ranks; wires are all-reduced, in one byte a value while ranks times the largest code fit one.
/// With an odd number of levels a zero stays zero; a block of zeros always does. Non-finite values
/// count as zero, and are flagged beside the bounds.
struct UniformHomomorphic {
  static constexpr bool additive = true;
  template <class S>
  using wires = WireTypes<std::int8_t, std::int16_t, std::int32_t>;
  std::size_t levels = 16;  ///< from 2 to 2^15
  std::size_t block = 0;    ///< values under one bound; 0: all of a parameter
  double clip = 0.0;        ///< in root mean squares; 0: the bound is the largest magnitude

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}('U')(levels)(block)(clip).value();
  }

  template <Executor E>
  class on : public GridCodec<kernel::UniformGrid, E> {
   public:
    explicit on(const UniformHomomorphic& options)
        : GridCodec<kernel::UniformGrid, E>({static_cast<std::int32_t>(options.levels) - 1},
                                            options.block, options.clip) {
      expects(options.levels >= 2 && options.levels <= (std::size_t{1} << 15), [&] {
        return "UniformHomomorphic has " + std::to_string(options.levels) +
               " levels; choose 2 to 32768, such as 16";
      });
    }
  };
};

/// `UniformHomomorphic` with THC's table of 16 unevenly spaced levels, made for values that are
/// normally distributed, as `RandomisedHadamard` makes them, and cut at 2.15 root mean squares
/// (p = 1/32). The codes on the wire are entries of the table, -15 to 15: a byte holds the sum of 8
/// ranks. (THC sends four bits to a server that looks them up; a sum needs the entries.)
struct NormalHomomorphic {
  static constexpr bool additive = true;
  template <class S>
  using wires = WireTypes<std::int8_t, std::int16_t, std::int32_t>;
  std::size_t block = 0;  ///< values under one bound; 0: all of a parameter
  double clip = 2.15387;  ///< in root mean squares; 0: the bound is the largest magnitude

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}('n')(block)(clip).value();
  }

  template <Executor E>
  class on : public GridCodec<kernel::NormalGrid, E> {
   public:
    explicit on(const NormalHomomorphic& options)
        : GridCodec<kernel::NormalGrid, E>({}, options.block, options.clip) {}
  };
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/low_rank_exchange.hpp>
#include <pactrain/algorithm/low_rank_state.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pactrain {

/// What a rank conveyed of a matrix that was approximated, as its feedback is told.
enum class LowRankError {
  aggregated,  ///< what all ranks together conveyed: the paper's algorithm 2
  local        ///< its own share in that: as the authors' later code
};

/// PowerSGD: a matrix M of n rows and m columns travels as two factors of `rank` columns, found by
/// one step of a power iteration that begins where the last one ended. With M = gradient + error:
/// P = mean(M Q), made orthonormal; Q = mean(M^T P); the result is P Q^T. Vogels, Karimireddy,
/// Jaggi: "PowerSGD", NeurIPS 2019, arXiv 1905.13727, algorithms 1 and 2. Biased: without error
/// feedback it does not converge.
///
/// Slices say how many `rows` a matrix has. Vectors, matrices that would not shrink, and matrices
/// of which a mask keeps a part travel as they are, in the same all-reduce as the left factors, and
/// are conveyed exactly. Factors belong to parameters, so parts may be reduced in calls of their
/// own.
struct LowRank {
  static constexpr bool additive = false;
  std::size_t rank = 2;    ///< columns of a factor, at most as many as the matrix has rows, columns
  double min_rate = 2.0;   ///< a matrix is approximated where (n + m) rank min_rate < n m
  Step start = 0;          ///< before this step all values travel as they are
  bool warm_start = true;  ///< false: the right factor is drawn anew in every step
  LowRankError error = LowRankError::aggregated;
  /// The type in which sums are made where the left factor becomes orthonormal: float64, float32.
  ValueType orthonormalise_in = ValueType::float64;
  /// A column of which less than this share is left when those before it are taken off is rounding
  /// and becomes zeros.
  double floor = 1e-6;
  std::uint64_t seed = 0;  ///< of the first right factor; the same on all ranks

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}(rank)(min_rate)(start)(warm_start)(error)(orthonormalise_in)(floor)(seed)
        .value();
  }
  [[nodiscard]] bool is_local() const { return error == LowRankError::local; }

  template <Executor E>
  using state = LowRankState<E>;
  template <GradientValue T, GradientValue S, Executor E, class C>
  using exchange = LowRankExchange<T, S, E, C, LowRank>;

  /// Refuses options that cannot work.
  template <Executor E>
  class on {
   public:
    on(const LowRank& options, state<E>&) {
      expects(options.rank > 0, "the rank is 0 (factors need a column); choose 1 to 4, or more");
      expects(std::isfinite(options.min_rate) && options.min_rate > 0, [&] {
        return "min_rate is " + std::to_string(options.min_rate) +
               " (by how much a matrix must shrink to be approximated); choose 1 or more";
      });
      expects(options.floor >= 0 && options.floor < 1, [&] {
        return "floor is " + std::to_string(options.floor) +
               " (the share of a column below which it is rounding); choose one in [0, 1)";
      });
      expects(options.orthonormalise_in <= ValueType::float64,
              "factors can be made orthonormal in float32 or float64 (half types have too few "
              "digits); choose one of them");
    }
  };
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/balanced_exchange.hpp>
#include <pactrain/algorithm/balanced_state.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/over_all.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/top_k.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pactrain {

/// The k largest sums of the values that ranks find among their k largest: Ok-Topk's sparse
/// all-reduce (Li and Hoefler, PPoPP'22, arXiv 2201.07598). Ranks choose by a threshold, send what
/// lies above to the owners of regions, who add; of the sums, those above a second threshold go to
/// all. A rank sends about 2 (P - 1)/P k items, at most 3 for k sums, however many ranks there are.
///
/// Thresholds are exact every `threshold_period` steps and used again in between, moved by a factor
/// where counts drift: this rank's below 2k/3 or above 5k/4, the sums' below 2k/3 or above 4k/3.
/// Regions are cut every `region_period` steps so that ranks' choices are spread evenly: the mean
/// over ranks of the cuts that are right for each. What is sent to all is spread evenly too.
///
/// A rank has conveyed its value only where it chose it and the sum was among the largest; the rest
/// stays in the residual, where there is one. With k of at least all values, and in the first
/// `dense_steps`, the result is the dense mean, exactly. k is as `TopK` says, of all values
/// together. Throws `PreconditionError` for a policy with another scope or exempt parts, and
/// `BackendError` where what was received cannot be.
template <class P, class Mask = IndexMask, class Values = Identity>
struct Balanced {
  static_assert(std::same_as<P, TopK>,
                "pactrain: Balanced wants TopK: it keeps the k largest of the sums, and of each "
                "rank's values; use SparseStreams or Gathered for another policy");
  static_assert(std::same_as<Mask, IndexMask> && std::same_as<Values, Identity>,
                "pactrain: Balanced sends positions as IndexMask stores them, and values as they "
                "are; use Gathered for another mask or codec");
  static constexpr bool additive = false;
  static constexpr bool whole = true;
  static constexpr bool hides_choice = true;  ///< what arrived of it is known to the exchange alone
  P policy = {};
  Step threshold_period = 32;   ///< steps from one exact threshold to the next, at least 1
  Step region_period = 64;      ///< steps from one cut of regions to the next; 0: always alike
  double local_drift = 1.012;   ///< by which this rank's threshold moves, at least 1
  double global_drift = 1.008;  ///< by which that of sums moves, at least 1
  Step dense_steps = 0;         ///< the first steps, in which everything is sent

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}(policy.fingerprint())(
               threshold_period)(region_period)(local_drift)(global_drift)(dense_steps)
        .value();
  }
  template <Executor E>
  using state = BalancedState<E>;
  template <GradientValue T, GradientValue S, Executor E, class C>
  using exchange = BalancedExchange<T, S, E, C, Balanced>;

  template <Executor E>
  class on {
   public:
    on(const Balanced& options, state<E>&) : options_(options) {
      static_cast<void>(typename P::template on<E>(options.policy));  // refuses wrong options
      expects(options.policy.scope == Scope::global && options.policy.exempt.empty(), [] {
        return "Balanced ranks all values together; write {.scope = Scope::global} and exempt "
               "no parts";
      });
      expects(options.threshold_period > 0,
              "a threshold_period of 0 steps finds no threshold; choose at least 1");
      const auto factor = [](double x) { return x >= 1 && std::isfinite(x); };
      expects(factor(options.local_drift) && factor(options.global_drift), [&] {
        return "thresholds drift by " + std::to_string(options.local_drift) + " and " +
               std::to_string(options.global_drift) +
               " (they are multiplied or divided by that); choose at least 1, as 1.01";
      });
    }
    [[nodiscard]] const Balanced& options() const noexcept { return options_; }
    /// How many values this rank chose; the exchange says.
    [[nodiscard]] std::size_t kept() const noexcept { return kept_; }
    void keep(std::size_t count) noexcept { kept_ = count; }

   private:
    Balanced options_;
    std::size_t kept_ = 0;
  };
};

template <class P>
struct OverAll<Balanced<P>> {
  using choice = Balanced<P>;
  template <class Mask, class Codec>
  static Balanced<P, Mask, Codec> codec(choice choice, Codec) {
    return {choice.policy,      choice.threshold_period, choice.region_period,
            choice.local_drift, choice.global_drift,     choice.dense_steps};
  }
};

}  // namespace pactrain

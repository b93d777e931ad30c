// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/kept_bits.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/ranking.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

namespace kernel {

/// Keeps the N largest magnitudes of each M consecutive entries, of equal ones the first.
template <class T, std::size_t N, std::size_t M>
struct KeepNofM {
  const T* x;
  std::size_t n;
  PACTRAIN_FN bool operator()(std::size_t i) const {
    const std::size_t begin = i / M * M;
    const std::size_t end = begin + M < n ? begin + M : n;
    const bits_t<T> mine = magnitude(x[i]);
    std::size_t ahead = 0;
    for (std::size_t j = begin; j < end; ++j) {
      const bits_t<T> theirs = magnitude(x[j]);
      ahead += static_cast<std::size_t>(theirs > mine || (theirs == mine && j < i));
    }
    return ahead < N;
  }
};

}  // namespace kernel

/// Keeps the N largest of each M consecutive weights of a parameter (2 of 4 is what sparse tensor
/// cores multiply: Mishra et al., "Accelerating sparse deep neural networks", arXiv 2104.08378).
///
/// Groups count from a parameter's first entry; a short one at its end keeps min(N, its size). Ties
/// go to the lowest index. The set is decided at `step`, and again every `every` steps if that is
/// not 0; pruned weights that are kept at zero rank last then. All ranks answer alike as long as
/// their weights are equal. Throws `PreconditionError`: no weights, an unknown exempt name at
/// construction; weights laid out otherwise than the gradient, or NaNs among them, when a decision
/// falls.
template <std::size_t N, std::size_t M>
struct NofM {
  static_assert(0 < N && N <= M, "NofM<N, M> keeps N of M entries: 1 <= N <= M");

  Values weights;                        ///< in the executor's memory, read at each decision
  Step step = 0;                         ///< everything is kept before this step
  Step every = 0;                        ///< steps between decisions; 0: the first one stands
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::dropped;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    options(N)(M)(step)(every);
    add_names(options, exempt);
    return options.value();
  }

  template <Executor E>
  class on {
   public:
    explicit on(const NofM& options) : options_(options) {
      expects_weights(options.weights);
      whole_ = exempt_parts(model_of(options.weights), options.exempt);
    }

    [[nodiscard]] std::uint64_t revision(Step now) const {
      if (now < options_.step) return 0;
      return options_.every == 0 ? 1 : 1 + (now - options_.step) / options_.every;
    }
    template <class T>
    void prepare(E& exec, const Model& model, std::span<const Piece<T>>, Step now) {
      expects_layout(options_.weights, model);
      if (now < options_.step) {
        kept_.keep_all();
        return;
      }
      with_gradient_type(options_.weights.type(), [&]<class W>() { decide<W>(exec, model); });
    }
    template <class T>
    [[nodiscard]] auto keep(const Piece<T>& piece) const {
      return kept_.from(piece.first);
    }

   private:
    template <class W>
    void decide(E& exec, const Model& model) {
      for (std::size_t i = 0; i < whole_.size(); ++i) {
        if (!whole_[i])
          expects_no_nan(exec, model, i, options_.weights.template as<W>(i), scratch_);
      }
      kept_.begin(exec, model.size());
      for (std::size_t i = 0; i < whole_.size(); ++i) {
        const Part& part = model.parts()[i];
        const auto values = options_.weights.template as<W>(i);
        if (whole_[i]) {
          kept_.assign(exec, part.first, part.size, kernel::Among{});
        } else {
          kept_.assign(exec, part.first, part.size,
                       kernel::KeepNofM<W, N, M>{values.data(), values.size()});
        }
      }
    }

    NofM options_;
    std::vector<bool> whole_;
    KeptBits<E> kept_;
    Scratch<E> scratch_;
  };
};

}  // namespace pactrain

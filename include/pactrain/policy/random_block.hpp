// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/random_share.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pactrain {

namespace kernel {
/// Keeps `taken` consecutive places of `of` from `start` on, around the end; entry 0 is at `first`.
struct KeepRun {
  std::size_t first, start, of, taken;
  PACTRAIN_FN bool operator()(std::size_t i) const {
    const std::size_t place = first + i;
    return (place < start ? place + of - start : place - start) < taken;
  }
};
}  // namespace kernel

/// Keeps a run of consecutive entries from a random place on, the same on all ranks and another in
/// every step: random-block sparsification (Foroutan Eghlidi and Jaggi, arXiv 2009.09271). One
/// number a step and parameter is drawn, and what is packed is contiguous.
///
/// Of n entries exactly max(1, floor(fraction * n)) are kept (`kept_of`), of each parameter or of
/// the whole model as one vector (exempt parts left out). The run goes on at the beginning where it
/// reaches the end, as the EPFL code does, so that each entry is kept with the same probability.
/// The place is a function of (seed, parameter, step) alone. What is not kept waits in the
/// residual, where there is one; `unbiased` is as in `RandomK`. Blocks ignore magnitudes even more
/// than random entries do: with strong compression accuracy suffers.
///
/// Throws `PreconditionError` for a fraction outside (0, 1] and for an unknown exempt name.
struct RandomBlock {
  double fraction = 0;                   ///< the share that is kept, in (0, 1]
  std::uint64_t seed = 0;                ///< the same on all ranks
  bool unbiased = false;                 ///< multiply by n / kept; not with a feedback
  Scope scope = Scope::per_parameter;    ///< where entries are chosen from
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    options(fraction)(seed)(unbiased)(scope);
    add_names(options, exempt);
    return options.value();
  }

  template <Executor E>
  class on;
};

template <Executor E>
class RandomBlock::on {
 public:
  explicit on(const RandomBlock& options) : options_(options) {
    expects_fraction(options.fraction);
  }

  [[nodiscard]] std::uint64_t revision(Step step) const { return step; }
  template <class T>
  void prepare(E&, const Model& model, std::span<const Piece<T>>, Step step) {
    whole_ = exempt_parts(model, options_.exempt);
    share_ = RandomShare(model, whole_, options_.fraction, options_.scope);
    random_ = {kernel::mix(options_.seed, 'b'), step};
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    if (whole_[piece.part]) return kernel::KeepRun{0, 0, piece.size, piece.size};
    const auto& share = share_[piece.part];
    const bool global = options_.scope == Scope::global;
    const auto words = random_words(random_, global ? 0 : piece.part, 0);
    const std::uint64_t number = std::uint64_t{words[0]} << 32 | words[1];
    const std::size_t start = share.of == 0 ? 0 : static_cast<std::size_t>(number % share.of);
    return kernel::KeepRun{share.first + piece.at, start, share.of, share.taken};
  }
  [[nodiscard]] double gain(std::size_t part) const {
    return options_.unbiased ? share_.gain(part) : 1;
  }

 private:
  RandomBlock options_;
  RandomShare share_;
  std::vector<bool> whole_;
  Random random_;
};

}  // namespace pactrain

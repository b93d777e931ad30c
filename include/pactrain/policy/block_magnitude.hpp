// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/kept_bits.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/ranking.hpp>
#include <pactrain/policy/sparsity.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

namespace kernel {

/// The mean magnitude of each B consecutive entries, summed in index order.
template <class T, std::size_t B>
struct BlockScores {
  const T* x;
  std::size_t n;
  double* scores;
  PACTRAIN_FN void operator()(std::size_t block) const {
    const std::size_t begin = block * B;
    const std::size_t end = begin + B < n ? begin + B : n;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const auto value = static_cast<double>(static_cast<arithmetic_t<T>>(x[i]));
      sum += value < 0 ? -value : value;
    }
    scores[block] = sum / static_cast<double>(end - begin);
  }
};

/// Keeps the entries of blocks whose score lies above a cut.
template <std::size_t B>
struct KeepBlocks {
  KeepLargest<double> blocks;
  PACTRAIN_FN bool operator()(std::size_t i) const { return blocks(i / B); }
};

}  // namespace kernel

/// Prunes whole blocks of B consecutive weights, those with the smallest mean magnitude: long runs
/// are cheap to pack and to index (block pruning after Narang, Undersander and Diamos,
/// "Block-sparse recurrent neural networks", arXiv 1711.02782, who take a block's maximum).
///
/// Blocks count from a parameter's first entry; a short one at its end counts as a block and is
/// measured by its own length. The score is the sum of magnitudes over the length, in double and in
/// index order, so that it has the same bits everywhere. Of n blocks exactly floor(sparsity * n)
/// are pruned (`fraction_of`), once, per parameter or of the whole model; of equal ones the last.
/// All ranks answer alike as long as their weights are equal. Throws `PreconditionError`: a
/// sparsity outside [0, 1), no weights, an unknown exempt name at construction; weights laid out
/// otherwise than the gradient, or NaNs among them, when the decision falls.
template <std::size_t B>
struct BlockMagnitude {
  static_assert(B > 0, "BlockMagnitude<B> prunes blocks of B entries: B >= 1");

  Values weights;                        ///< in the executor's memory, read when `step` is reached
  Sparsity sparsity = 0;                 ///< the share of blocks that is pruned, as `Sparsity` says
  Step step = 0;                         ///< everything is kept before this step
  Scope scope = Scope::per_parameter;    ///< where blocks are ranked
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::dropped;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    sparsity.add_to(options(B)(step)(scope));
    add_names(options, exempt);
    return options.value();
  }

  template <Executor E>
  class on {
   public:
    explicit on(const BlockMagnitude& options) : options_(options) {
      expects_weights(options.weights);
      options.sparsity.expect_valid("the sparsity", options.scope);
      whole_ = exempt_parts(model_of(options.weights), options.exempt);
    }

    [[nodiscard]] std::uint64_t revision(Step now) const { return now < options_.step ? 0 : 1; }
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
    static std::size_t blocks_of(std::size_t n) { return n / B + (n % B != 0 ? 1 : 0); }

    template <class W>
    void decide(E& exec, const Model& model) {
      std::size_t total = 0;
      for (std::size_t i = 0; i < whole_.size(); ++i) {
        if (whole_[i]) continue;
        expects_no_nan(exec, model, i, options_.weights.template as<W>(i), scratch_);
        total += blocks_of(model.parts()[i].size);
      }
      auto scores = scores_.template take<double>(exec, total);
      std::vector<Ranked<double>> runs;
      std::vector<std::size_t> parts;
      options_.sparsity.expect_fits(model);
      for (std::size_t i = 0; i < whole_.size(); ++i) {
        if (whole_[i]) continue;
        const auto values = options_.weights.template as<W>(i);
        const std::size_t blocks = blocks_of(values.size());
        exec.for_each(blocks,
                      kernel::BlockScores<W, B>{values.data(), values.size(), scores.data()});
        runs.push_back({scores.first(blocks), {}});
        parts.push_back(i);
        scores = scores.subspan(blocks);
      }
      const auto cuts = cuts_at(exec, std::span<const Ranked<double>>(runs), parts, options_.scope,
                                options_.sparsity, scratch_);

      kept_.begin(exec, model.size());
      for (std::size_t i = 0, run = 0; i < whole_.size(); ++i) {
        const Part& part = model.parts()[i];
        if (whole_[i]) {
          kept_.assign(exec, part.first, part.size, kernel::Among{});
        } else {
          kept_.assign(exec, part.first, part.size,
                       kernel::KeepBlocks<B>{{runs[run].values.data(), {}, cuts[run]}});
          ++run;
        }
      }
    }

    BlockMagnitude options_;
    std::vector<bool> whole_;
    KeptBits<E> kept_;
    Scratch<E> scores_, scratch_;
  };
};

}  // namespace pactrain

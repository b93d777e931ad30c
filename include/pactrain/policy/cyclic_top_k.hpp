// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/winners.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/top_k.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// Keeps the largest gradient entries of one rank, which leads this step, on all ranks: ScaleCom's
/// cyclic local top-k (Chen et al., NeurIPS 2020, arXiv 2104.11125, algorithm 1). Rank t mod n
/// leads step t; its mask is broadcast, so that what travels does not grow with the ranks.
///
/// Give one of `fraction`, `k` (both as in `TopK`) and `chunk`: of every `chunk` consecutive
/// entries of a parameter the largest, its last chunk may be short (the paper's chunk-wise
/// selection: one pass, no ranking). Of equal magnitudes the lowest index is kept; NaNs rank
/// highest. What is not kept waits in the residual, where there is one: with `ErrorFeedback{.gamma
/// = beta}` that is the paper's low-pass filter (beta = 0.1 for large batches, 1 otherwise).
///
/// Only the leader selects. Throws `PreconditionError`: none or two of the three, a fraction
/// outside (0, 1], a k or a chunk of 0, an unknown exempt name.
struct CyclicTopK {
  std::optional<double> fraction = {};    ///< the share that is kept, in (0, 1]
  std::optional<std::size_t> k = {};      ///< or how many, at least 1
  std::optional<std::size_t> chunk = {};  ///< or of how many one is kept, at least 1
  Scope scope = Scope::per_parameter;     ///< where entries are ranked; chunks never cross parts
  std::vector<std::string> exempt = {};   ///< parts kept whole

  static constexpr Support support = Support::led;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    options(fraction.value_or(0))(k.value_or(0))(chunk.value_or(0))(scope);
    add_names(options, exempt);
    return options.value();
  }

  template <Executor E>
  class on;
};

template <Executor E>
class CyclicTopK::on {
 public:
  explicit on(const CyclicTopK& options) : options_(options) {
    const int given = int(options.fraction.has_value()) + int(options.k.has_value()) +
                      int(options.chunk.has_value());
    expects(given == 1, [] {
      return "CyclicTopK needs one of fraction, k and chunk; write {.fraction = 0.01}, {.k = 1000} "
             "or {.chunk = 100}";
    });
    expects(options.chunk.value_or(1) > 0,
            "the chunk is 0 (one entry of so many is kept); choose a chunk of at least 1");
    if (!options.chunk) {
      top_.emplace(TopK{options.fraction, options.k, options.scope, options.exempt});
    }
  }

  /// Who selects at `step`.
  [[nodiscard]] int leader(Step step, int ranks) const {
    return static_cast<int>(step % static_cast<Step>(ranks));
  }
  [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>> gradient, Step step) {
    if (top_) return top_->prepare(exec, model, gradient, step);
    whole_ = exempt_parts(model, options_.exempt);
    const std::size_t width = *options_.chunk;
    starts_.assign(1, 0);
    for (const Part& part : model.parts()) {
      starts_.push_back(starts_.back() + part.size / width + (part.size % width != 0 ? 1 : 0));
    }
    const auto winners = winners_.template take<kernel::Winner>(exec, starts_.back());
    std::vector<Piece<T>> pieces(gradient.begin(), gradient.end());
    std::ranges::sort(pieces, {}, &Piece<T>::first);  // a chunk may go on in the next piece
    for (const Piece<T>& piece : pieces) {
      if (whole_[piece.part] || piece.size == 0) continue;
      exec.for_each(
          (piece.at + piece.size - 1) / width - piece.at / width + 1,
          kernel::FindWinner<std::remove_const_t<T>>{piece.data, piece.at, piece.size, width,
                                                     winners.data() + starts_[piece.part]});
    }
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    using Keep = kernel::KeepWinners<std::remove_const_t<T>>;
    if (top_) return Keep{nullptr, 0, 1, top_->keep(piece)};
    if (whole_[piece.part]) return Keep{nullptr, 0, 1, {piece.data, {}, {0, piece.size}}};
    const auto* winners = winners_.template view<kernel::Winner>(starts_.back()).data();
    return Keep{winners + starts_[piece.part], piece.at, *options_.chunk, {}};
  }

 private:
  CyclicTopK options_;
  std::optional<TopK::on<E>> top_;
  std::vector<bool> whole_;
  std::vector<std::size_t> starts_;  ///< the first chunk of each part
  Scratch<E> winners_;
};

}  // namespace pactrain

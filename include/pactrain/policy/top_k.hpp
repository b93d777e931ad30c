// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/select_largest.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/policy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// Keeps the largest gradient entries of this rank (Aji and Heafield, arXiv 1704.05021), to be
/// united with those of the others; what is not kept waits in the residual, where there is one.
///
/// Of n entries max(1, floor(fraction * n)) are kept (`fraction_of`), or min(k, n), of each
/// parameter or of all that are reduced together; exactly so many, of equal magnitudes those at the
/// lowest indices. NaNs rank highest, so they are never dropped. Give either a fraction in (0, 1]
/// or a k >= 1; anything else is a `PreconditionError`.
struct TopK {
  std::optional<double> fraction = {};   ///< the share that is kept, in (0, 1]
  std::optional<std::size_t> k = {};     ///< or how many, at least 1
  Scope scope = Scope::per_parameter;    ///< where entries are ranked
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::local;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    options(fraction.value_or(0))(k.value_or(0))(scope);
    add_names(options, exempt);
    return options.value();
  }

  /// How many of `n` entries that are ranked together are kept. Precondition: a fraction or a k.
  [[nodiscard]] std::size_t kept_of(std::size_t n) const {
    if (k) return std::min(*k, n);
    return std::min(n, std::max<std::size_t>(1, fraction_of(n, *fraction)));
  }

  template <Executor E>
  class on;
};

template <Executor E>
class TopK::on {
 public:
  explicit on(const TopK& options) : options_(options) {
    expects(options.fraction.has_value() != options.k.has_value(), [] {
      return "TopK needs either a fraction or a k; write {.fraction = 0.01} or {.k = 1000}";
    });
    expects(options.fraction.value_or(1) > 0 && options.fraction.value_or(1) <= 1, [&] {
      return "the fraction is " + std::to_string(*options.fraction) +
             " (it is the share of entries that is kept); choose one in (0, 1]";
    });
    expects(options.k.value_or(1) > 0,
            [] { return "k is 0 (nothing would ever be sent); choose k >= 1"; });
  }

  [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>> gradient, Step) {
    using V = std::remove_const_t<T>;
    const auto whole = exempt_parts(model, options_.exempt);
    std::vector<Piece<T>> pieces;
    for (const Piece<T>& piece : gradient) {
      if (!whole[piece.part]) pieces.push_back(piece);
    }
    std::ranges::sort(pieces, {}, &Piece<T>::first);  // ties go by index, however pieces come
    std::vector<Ranked<V>> runs;
    for (const Piece<T>& piece : pieces) runs.push_back({piece.values(), {}});
    std::vector<kernel::Cut<V>> cuts(runs.size());

    std::vector<Line> lines(model.parts().size());
    for (std::size_t begin = 0; begin < pieces.size();) {
      std::size_t end = begin, n = 0;
      for (; end < pieces.size() &&
             (options_.scope == Scope::global || pieces[end].part == pieces[begin].part);
           ++end) {
        n += pieces[end].size;
      }
      const std::size_t count = end - begin;
      select_largest(exec, std::span<const Ranked<V>>(runs).subspan(begin, count),
                     options_.kept_of(n), std::span(cuts).subspan(begin, count), scratch_);
      std::size_t ties_end = std::numeric_limits<std::size_t>::max();
      for (std::size_t i = end; i-- > begin;) {
        if (cuts[i].below < pieces[i].size) ties_end = pieces[i].first + cuts[i].below;
      }
      for (; begin < end; ++begin) lines[pieces[begin].part] = {cuts[begin].bar, ties_end};
    }
    lines_ = std::move(lines);
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    using V = std::remove_const_t<T>;
    const Line& line = lines_[piece.part];
    const std::size_t below = std::max(line.ties_end, piece.first) - piece.first;
    return kernel::KeepLargest<V>{piece.data, {}, {static_cast<bits_t<V>>(line.bar), below}};
  }

 private:
  /// What a part's entries are held against: bits of a magnitude, and the position in the model
  /// below which ties are kept. A part without one is kept whole.
  struct Line {
    std::uint64_t bar = 0;
    std::size_t ties_end = std::numeric_limits<std::size_t>::max();
  };

  TopK options_;
  std::vector<Line> lines_;
  Scratch<E> scratch_;
};

}  // namespace pactrain

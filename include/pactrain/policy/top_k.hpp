// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/cut_lines.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
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
    return k ? std::min(*k, n) : pactrain::kept_of(n, *fraction);
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
    expects_fraction(options.fraction.value_or(1));
    expects(options.k.value_or(1) > 0,
            [] { return "k is 0 (nothing would ever be sent); choose k >= 1"; });
  }

  [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>> gradient, Step) {
    CutLines lines;
    lines.begin(model.parts().size());
    each_group(gradient, exempt_parts(model, options_.exempt), options_.scope == Scope::global,
               [&](std::span<const Piece<T>> pieces, std::size_t) {
                 const std::size_t n = entries_of(pieces);
                 lines.set_largest(exec, pieces, options_.kept_of(n), scratch_);
               });
    lines_ = std::move(lines);
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return lines_.keep(piece);
  }

 private:
  TopK options_;
  CutLines lines_;
  Scratch<E> scratch_;
};

}  // namespace pactrain

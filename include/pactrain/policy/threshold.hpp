// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/threshold_bits.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace pactrain {

/// Keeps the gradient entries of this rank with |x| >= value (Strom, "Scalable distributed DNN
/// training using commodity GPU cloud computing", Interspeech 2015), to be united with those of the
/// others; what is not kept waits in the residual, where there is one.
///
/// The comparison is with the magnitude, exact in the gradient's own type, and includes equality;
/// NaNs are kept. A value of 0 keeps everything: `NonZero` keeps what differs from zero. Throws
/// `PreconditionError` for a negative or non-finite value and for an unknown exempt name.
struct Threshold {
  double value = 0;                      ///< the least magnitude that is kept
  std::vector<std::string> exempt = {};  ///< parts kept whole

  static constexpr Support support = Support::local;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    options(value);
    add_names(options, exempt);
    return options.value();
  }

  template <Executor E>
  class on;
};

template <Executor E>
class Threshold::on {
 public:
  explicit on(const Threshold& options) : options_(options) {
    expects(options.value >= 0 && std::isfinite(options.value), [&] {
      return "the threshold is " + std::to_string(options.value) +
             " (magnitudes are held against it); choose a finite one that is not negative";
    });
  }

  [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
  template <class T>
  void prepare(E&, const Model& model, std::span<const Piece<T>>, Step) {
    if (!options_.exempt.empty()) whole_ = exempt_parts(model, options_.exempt);
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    using V = std::remove_const_t<T>;
    const bool whole = !whole_.empty() && whole_[piece.part];
    return kernel::KeepAtLeast<V>{piece.data,
                                  whole ? bits_t<V>{0} : least_magnitude<V>(options_.value)};
  }

 private:
  Threshold options_;
  std::vector<bool> whole_;
};

}  // namespace pactrain

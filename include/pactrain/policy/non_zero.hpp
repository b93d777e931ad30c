// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/model.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace pactrain {

/// Keeps the gradient entries of this rank that differ from zero, to be united with those of the
/// others: lossless, whatever made the zeros. NaNs are kept; -0.0 is a zero.
struct NonZero {
  static constexpr Support support = Support::local;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }

  template <Executor E>
  class on;
};

template <Executor E>
class NonZero::on {
 public:
  explicit on(const NonZero&) {}

  [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
  template <class T>
  void prepare(E&, const Model&, std::span<const Piece<T>>, Step) {}
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return kernel::KeepAtLeast<std::remove_const_t<T>>{piece.data, 1};
  }
};

}  // namespace pactrain

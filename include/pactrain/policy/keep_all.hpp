// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/model.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstdint>
#include <span>

namespace pactrain {

/// Keeps every entry: an unpruned model, for codecs that need no mask.
struct KeepAll {
  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::dropped;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }

  template <Executor E>
  class on;
};

template <Executor E>
class KeepAll::on {
 public:
  explicit on(const KeepAll&) {}

  [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
  template <class T>
  void prepare(E&, const Model&, std::span<const Piece<T>>, Step) {}
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>&) const {
    return kernel::Among{};
  }
};

}  // namespace pactrain

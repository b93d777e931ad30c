// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// The smallest complete policy: the example of docs/concepts/policy.md.
namespace example {

using pactrain::Executor, pactrain::Model, pactrain::Piece, pactrain::Step;

/// A question about an index, as kernels ask it: copied freely.
struct KeepMultiples {
  std::size_t at, n, shift;
  PACTRAIN_FN bool operator()(std::size_t i) const { return (at + i) % n == shift; }
};

/// Keeps every n-th entry of a parameter, the next ones after each `every` steps.
struct EveryNth {
  std::size_t n = 2;
  Step every = 100;

  static constexpr pactrain::Support support = pactrain::Support::shared;
  static constexpr pactrain::Unkept unkept = pactrain::Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const {
    return pactrain::Fingerprint()(n)(every).value();
  }

  template <Executor E>
  class on;
};

template <Executor E>
class EveryNth::on {
 public:
  explicit on(const EveryNth& options) : options_(options) {}

  [[nodiscard]] std::uint64_t revision(Step step) const { return step / options_.every; }
  template <class T>
  void prepare(E&, const Model&, std::span<const Piece<T>>, Step step) {
    shift_ = revision(step) % options_.n;
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return KeepMultiples{piece.at, options_.n, shift_};
  }

 private:
  EveryNth options_;
  std::size_t shift_ = 0;
};

}  // namespace example

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pipeline/support.hpp>

#include <pactrain/core/error.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/policy/policy.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// For tests of what each rank chooses for itself.
namespace pactrain::test {

/// Which of `x` are the k largest, of equal ones the first.
template <class T>
std::vector<bool> largest(const std::vector<T>& x, std::size_t k) {
  std::vector<std::size_t> order(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return magnitude(x[a]) != magnitude(x[b]) ? magnitude(x[a]) > magnitude(x[b]) : a < b;
  });
  std::vector<bool> kept(x.size());
  for (std::size_t i = 0; i < std::min(k, x.size()); ++i) kept[order[i]] = true;
  return kept;
}

/// A local policy that cannot choose, on the rank that says so.
struct CannotChoose {
  bool fails = false;
  static constexpr Support support = Support::local;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }
  template <Executor E>
  class on {
   public:
    explicit on(const CannotChoose& options) : fails_(options.fails) {}
    [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
    template <class T>
    void prepare(E&, const Model&, std::span<const Piece<T>>, Step) {
      if (fails_) throw PreconditionError("pactrain: this rank cannot choose");
    }
    template <class T>
    [[nodiscard]] auto keep(const Piece<T>&) const {
      return kernel::Among{};
    }

   private:
    bool fails_;
  };
};

/// Over some steps, what a reducer that sums gave and what waits in all ranks' residuals is what
/// they put in; and something does wait.
template <class R>
void check_that_nothing_is_lost(HostBackend& backend, R& reduce, std::size_t n) {
  const int rank = backend.communicator().rank(), ranks = backend.communicator().size();
  std::vector<double> given(n), owed(n);
  for (int step = 0; step < 8; ++step) {
    for (int other = 0; other < ranks; ++other) {
      const auto theirs = values_of<float>(other + 10 * step, n);
      for (std::size_t i = 0; i < n; ++i) owed[i] += theirs[i];
    }
    std::vector<float> x = values_of<float>(rank + 10 * step, n);
    reduce(x);
    for (std::size_t i = 0; i < n; ++i) given[i] += x[i];
  }
  const auto mine = reducer::residual_in<float>(reducer::saved(reduce), n);
  const auto all =
      gather_host_values(backend.executor(), backend.communicator(), std::span<const float>(mine));
  double waiting = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double residual = 0;
    for (std::size_t r = 0; r < all.size() / n; ++r) residual += all[r * n + i];
    waiting += std::abs(residual);
    CHECK(std::abs(given[i] + residual - owed[i]) <= 1e-3);
  }
  CHECK(waiting > 100);
}

}  // namespace pactrain::test

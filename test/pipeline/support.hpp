// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <host/world.hpp>
#include <suite/sparse_all_reduce_law.hpp>
#include <suite/sparse_all_reduce_refusals.hpp>
#include <suite/values.hpp>

#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/host/backend.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// For tests of whole reducers on threads, with the numbers of papers and reports.
namespace pactrain::test {

inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
inline constexpr float infinity = std::numeric_limits<float>::infinity();

template <class P, class M, class Z = Identity, class F = NoFeedback>
using OnThreads = SparseAllReduce<P, M, HostBackend, Z, F>;

/// `body(backend, rank)` on so many threads.
template <class Body>
void with_ranks(int ranks, Body body) {
  on_threads(
      ranks, [&](HostBackend& backend) { body(backend, backend.communicator().rank()); }, patience);
}

/// A policy that cannot choose on one rank.
struct NthFails {
  bool fails = false;
  static constexpr Support support = Support::local;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }
  template <Executor E>
  class on {
   public:
    explicit on(const NthFails& options) : fails_(options.fails) {}
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

/// Calls `f.operator()<Codec>()` for each codec.
template <class F>
void for_codecs(F f) {
  for_types<Identity, Cast<float16>, Cast<bfloat16>, Ternary, Int8>(f);
}

}  // namespace pactrain::test

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/replica.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

/// What a reducer remembers: saved states, and what feedback owes.
namespace pactrain::test::reducer {

template <class R>
std::string saved(R& reducer) {
  std::ostringstream out;
  reducer.save(out);
  return out.str();
}
template <class R>
void restore(R& reducer, const std::string& state) {
  std::istringstream in(state);
  reducer.load(in);
}

/// A fresh reducer that loads a state goes on as the saved one does, whatever step it was saved at.
template <class C, World W>
void a_state_goes_on() {
  on_each<W>([](auto& backend) {
    using B = std::remove_reference_t<decltype(backend)>;
    constexpr std::size_t n = 200;
    for (Step at = 0; at < 4; ++at) {
      CAPTURE(at);
      Replica<C, B> first(backend, n, 0.5), second(backend, n, 0.5);
      for (Step step = 0; step < at; ++step) first.clean_step(step);
      const std::string state = saved(first.reduce);
      restore(second.reduce, state);
      CHECK(second.reduce.step() == at);
      CHECK(saved(second.reduce) == state);
      for (Step step = at; step < at + 3; ++step) {
        CHECK(same_bits(first.clean_step(step), second.clean_step(step)));
        CHECK(first.reduce.mask().fingerprint() == second.reduce.mask().fingerprint());
      }
      CHECK(saved(first.reduce) == saved(second.reduce));
    }
  });
}

/// A truncated or damaged state, or one of another reducer, is refused and changes nothing.
template <class C, World W>
void a_damaged_state_is_refused() {
  on_each<W>([](auto& backend) {
    using B = std::remove_reference_t<decltype(backend)>;
    constexpr std::size_t n = 65;
    Replica<C, B> source(backend, n, 0.5), target(backend, n, 0.5), fresh(backend, n, 0.5);
    for (Step step = 0; step < 3; ++step) source.clean_step(step);
    target.clean_step(0);
    const std::string state = saved(source.reduce), before = saved(target.reduce);
    const auto refused = [&](auto& reducer, const std::string& damaged) {
      try {
        restore(reducer, damaged);
      } catch (const StateError&) {
        return true;
      }
      return false;
    };
    std::size_t accepted = 0;
    for (std::size_t size = 0; size < state.size(); size += size < 64 ? 1 : 13) {
      accepted += refused(target.reduce, state.substr(0, size)) ? 0 : 1;
      accepted += refused(fresh.reduce, state.substr(0, size)) ? 0 : 1;
    }
    for (std::size_t at = 0; at < state.size(); at += at < 256 ? 1 : 7) {
      std::string damaged = state;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
      accepted += refused(target.reduce, damaged) ? 0 : 1;
      accepted += refused(fresh.reduce, damaged) ? 0 : 1;
    }
    CHECK(accepted == 0);

    Replica<C, B> larger(backend, n + 9, 0.5), seeded(backend, n, 0.5, {.seed = 8});
    larger.clean_step(0);
    CHECK(refused(larger.reduce, state));
    CHECK(refused(seeded.reduce, state));
    CHECK(saved(target.reduce) == before);
    CHECK(same_bits(target.clean_step(1), [&] {
      Replica<C, B> other(backend, n, 0.5);
      other.clean_step(0);
      return other.clean_step(1);
    }()));
  });
}

/// The residual that a state ends with, before its checksum.
template <GradientValue A>
std::vector<A> residual_in(const std::string& state, std::size_t n) {
  std::vector<A> residual(n);
  if (n > 0)
    std::memcpy(residual.data(), state.data() + state.size() - 8 - n * sizeof(A), n * sizeof(A));
  return residual;
}

/// Over steps and ranks: sum of results = sum of gradients - residuals / gamma, at all entries that
/// the policy does not drop; what it drops is remembered nowhere. Up to the rounding of sums.
template <class C, World W>
void nothing_is_lost() {
  if constexpr (C::remembers) {
    on_each<W>([](auto& backend) {
      using B = std::remove_reference_t<decltype(backend)>;
      using A = arithmetic_t<typename C::value>;
      constexpr std::size_t n = 200;
      const int ranks = backend.communicator().size();
      for (const double gamma : {1.0, 0.5}) {
        constexpr Step steps = 6;
        Replica<C, B> replica(backend, n, 0.5, {.reduction = Reduction::sum, .seed = 4},
                              {.gamma = gamma});
        std::vector<double> owed(n), given(n);
        double sum_of_sizes = 0;
        for (Step step = 0; step < steps; ++step) {
          for (int rank = 0; rank < ranks; ++rank) {
            const auto gradient = replica.values(rank, step, n);
            for (std::size_t i = 0; i < n; ++i) {
              owed[i] += static_cast<double>(static_cast<A>(gradient[i]));
            }
          }
          const auto result = replica.clean_step(step);
          double largest = 0;
          for (std::size_t i = 0; i < n; ++i) {
            const auto value = static_cast<double>(static_cast<A>(result[i]));
            given[i] += value;
            largest = std::max(largest, std::abs(value));
          }
          sum_of_sizes += largest + 64;
        }
        const auto mine = residual_in<A>(saved(replica.reduce), n);
        const auto all = gather_host_values(backend.executor(), backend.communicator(),
                                            std::span<const A>(mine));
        const auto kept = replica.kept();
        // A sum in two bytes, on its way back or in the gradient, is rounded once more.
        const bool halved = sizeof(typename C::value) == 2 || !(C::lossless || C::scaled);
        const double tolerance = sum_of_sizes * (halved ? 0x1p-8 : 1e-6);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < n; ++i) {
          double residual = 0;
          for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
            residual += static_cast<double>(all[rank * n + i]);
          }
          if (C::drops && !kept[i]) {
            wrong += residual != 0 ? 1 : 0;
          } else if (!(std::abs(given[i] - owed[i] + residual / gamma) <= tolerance)) {
            ++wrong;
          }
        }
        CAPTURE(gamma);
        CHECK(wrong == 0);
      }
    });
  }
}

}  // namespace pactrain::test::reducer

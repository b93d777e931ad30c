// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kokkos/world.hpp>
#include <suite/policies_made.hpp>
#include <suite/replica.hpp>
#include <suite/values.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace pactrain::test::reducer {

/// What every rank has after each of a few steps, and its mask at the end.
template <GradientValue T>
struct Outcome {
  std::vector<std::vector<T>> results;
  std::vector<std::uint64_t> masks;
};

template <class C, World W>
auto outcome_on(int ranks) {
  Outcome<typename C::value> outcome;
  outcome.results.resize(static_cast<std::size_t>(ranks));
  outcome.masks.resize(static_cast<std::size_t>(ranks));
  W::run(
      ranks,
      [&](auto& backend) {
        const auto rank = static_cast<std::size_t>(backend.communicator().rank());
        Replica<C, std::remove_reference_t<decltype(backend)>> replica(backend, 3001, 0.3);
        for (Step step = 0; step < 3; ++step) {
          const auto result = replica.clean_step(step);
          outcome.results[rank].insert(outcome.results[rank].end(), result.begin(), result.end());
        }
        outcome.masks[rank] = replica.reduce.mask().fingerprint();
      },
      patience);
  return outcome;
}

/// What a Kokkos space gives is what the host backend gives.
template <class C>
void gives_the_bits_of_the_host_backend() {
  for (const int ranks : KokkosThreads::ranks()) {
    CAPTURE(ranks);
    const auto host = outcome_on<C, Threads>(ranks), kokkos = outcome_on<C, KokkosThreads>(ranks);
    CHECK(host.masks == kokkos.masks);
    for (std::size_t rank = 0; rank < host.results.size(); ++rank) {
      CHECK(same_bits(host.results[rank], kokkos.results[rank]));
    }
  }
}

}  // namespace pactrain::test::reducer

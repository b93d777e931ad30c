// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/kokkos/backend.hpp>
#include <pactrain/pactrain.hpp>

#include <Kokkos_Core.hpp>

using namespace pactrain;

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  using OnKokkos = KokkosBackend<Kokkos::DefaultHostExecutionSpace, ThreadCommunicator>;
  OnKokkos backend;
  const Kokkos::View<float**, Kokkos::HostSpace> weights("weights", 10, 10),
      gradient("gradient", 10, 10);
  Kokkos::deep_copy(weights, 1.0f);
  Kokkos::deep_copy(gradient, 1.0f);
  SparseAllReduce<OneShotMagnitude, BitMask, OnKokkos> reduce{
      backend, {.weights = weights, .sparsity = 0.9}};
  const Report report = reduce(gradient);
  expects(report.kept == 10, "one entry in ten is kept");
}

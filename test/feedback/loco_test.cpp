// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <host/world.hpp>
#include <suite/values.hpp>

#include <pactrain/compress/int4.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/sparse_all_reduce.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

/// LoCo as it is used: a reducer with four bits and residuals of a byte.
using namespace pactrain;
using namespace pactrain::test;

namespace {

using Floats = std::vector<float>;
template <class Policy>
using LoCo = SparseAllReduce<Policy, BitMask, HostBackend, Int4, ErrorFeedback>;

/// Between -1 and 1, different on each rank.
Floats waves(int rank, std::size_t n) {
  Floats x(n);
  for (std::size_t i = 0; i < n; ++i)
    x[i] = std::sin(static_cast<float>((i + 1) * static_cast<std::size_t>(7 + rank * 4)));
  return x;
}
std::string saved(auto& reduce) {
  std::ostringstream out;
  reduce.save(out);
  return out.str();
}

TEST_CASE("two workers, two steps: the worked numbers") {
  on_threads(2, [](HostBackend& backend) {
    LoCo<KeepAll> reduce{
        backend, {}, {.scale = 8}, {.gamma = 0.2, .storage = ValueType::int8, .error_scale = 64}};
    const bool first = backend.communicator().rank() == 0;
    const Floats steady{.10f, .44f, -.06f, -.40f};
    Floats gradient = first ? Floats{.30f, -.20f, .05f, 1.50f} : steady;
    const Report report = reduce(gradient);
    CHECK(report.payload_bytes == 16);  // two bytes of codes, padded to eight, and flags
    CHECK(gradient == Floats{.1875f, .125f, 0, .25f});
    gradient = first ? Floats{.30f, -.20f, .05f, .50f} : steady;
    reduce(gradient);
    CHECK(gradient == Floats{.25f, .125f, 0, .125f});
  });
}

TEST_CASE("many steps convey what there was, by block and by scale") {
  constexpr std::size_t n = 700;
  for (const double scale : {0.0, 256.0}) {
    on_threads(3, [&](HostBackend& backend) {
      LoCo<KeepAll> reduce{backend,
                           {},
                           {.scale = scale > 0 ? 2.0 : 0.0},
                           {.gamma = 0.5, .storage = ValueType::int8, .error_scale = scale}};
      std::vector<double> sum(n);
      constexpr int steps = 400;
      for (int step = 0; step < steps; ++step) {
        Floats gradient = waves(backend.communicator().rank(), n);
        reduce(gradient);
        for (std::size_t i = 0; i < n; ++i) sum[i] += double{gradient[i]};
      }
      const Floats a = waves(0, n), b = waves(1, n), c = waves(2, n);
      double worst = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double mean = (double{a[i]} + double{b[i]} + double{c[i]}) / 3;
        worst = std::max(worst, std::abs(sum[i] / steps - mean));
      }
      CHECK(worst < 0.02);
    });
  }
}

TEST_CASE("a state goes on where it was saved, and follows the loss scale") {
  on_threads(2, [](HostBackend& backend) {
    for (const double error_scale : {0.0, 64.0}) {
      const Int4 codec{.block = 64};
      const ErrorFeedback feedback{.storage = ValueType::int8, .error_scale = error_scale};
      LoCo<Pruned> one{backend, Pruned::from_flags(std::vector<int>(100, 1)), codec, feedback};
      LoCo<Pruned> two{backend, Pruned::from_flags(std::vector<int>(100, 1)), codec, feedback};
      const auto step = [&](auto& reduce, int number, float factor) {
        Floats gradient = values_of<float>(2 * number + backend.communicator().rank(), 100);
        for (float& g : gradient) g *= factor;
        reduce(gradient);
        return gradient;
      };
      one.rescale(2.0);  // nothing is remembered yet
      step(one, 0, 1);
      step(one, 1, 1);
      std::istringstream in(saved(one));
      two.load(in);
      CHECK(same_bits(step(one, 2, 1), step(two, 2, 1)));
      CHECK(saved(one) == saved(two));

      // Gradients and what is remembered, four times as large: so is the result.
      two.rescale(4.0);
      const Floats expected = step(one, 3, 1), larger = step(two, 3, 4);
      for (std::size_t i = 0; i < 100; ++i) CHECK(larger[i] == 4 * expected[i]);
      CHECK_THROWS_AS(one.rescale(-1.0), PreconditionError);
    }
  });
}

}  // namespace

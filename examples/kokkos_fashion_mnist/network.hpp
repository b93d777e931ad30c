// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../fashion_mnist/dataset.hpp"

#include <pactrain/kernel/bits.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>

/// A perceptron 784-128-10 whose kernels know Kokkos and nothing else.
namespace demo {

using Matrix = Kokkos::View<float**, Kokkos::LayoutRight>;
using Labels = Kokkos::View<int*>;
inline constexpr int pixels = Dataset::pixels, hidden = 128, classes = Dataset::classes;
inline constexpr int batch = 64;  // pictures of a rank in a step

/// Pictures, a row each, and their labels, where kernels can read them.
struct Pictures {
  Matrix x;
  Labels label;
};
/// One value for each weight.
struct Parameters {
  Matrix first{"first", hidden, pixels}, second{"second", classes, hidden};
};
/// What the layers put out for a batch; first the hidden one.
struct Activation {
  Matrix first{"hidden", batch, hidden}, second{"out", batch, classes};
};

/// Pictures of a set, from `first` on in strides.
inline Pictures load(const Dataset& data, int count, int first, int stride) {
  const Pictures pictures{Matrix("pictures", count, pixels), Labels("labels", count)};
  const auto x = Kokkos::create_mirror_view(pictures.x);
  const auto label = Kokkos::create_mirror_view(pictures.label);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(first + i * stride);
    for (std::size_t p = 0; p < Dataset::pixels; ++p) {
      x(i, p) = static_cast<float>(data.image(at)[p]) / 255;
    }
    label(i) = data.label(at);
  }
  Kokkos::deep_copy(pictures.x, x);
  Kokkos::deep_copy(pictures.label, label);
  return pictures;
}

/// Uniform weights by He's rule, the same on all ranks.
inline void initialise(const Matrix& w) {
  const float scale = std::sqrt(6.0f / static_cast<float>(w.extent(1)));
  Kokkos::parallel_for(
      "initialise", w.size(), KOKKOS_LAMBDA(const std::size_t i) {
        const auto random = static_cast<float>(pactrain::kernel::mix(i, 1) >> 40);
        w.data()[i] = scale * (random * 0x1p-23f - 1);
      });
}

/// Rectified units.
inline void hidden_layer(const Matrix& w, const Matrix& x, int begin, const Matrix& y) {
  Kokkos::parallel_for(
      "hidden_layer", batch * hidden, KOKKOS_LAMBDA(const int i) {
        const int b = i / hidden, u = i % hidden;
        float sum = 0;
        for (int p = 0; p < pixels; ++p) sum += w(u, p) * x(begin + b, p);
        y(b, u) = sum > 0 ? sum : 0;
      });
}

/// Probabilities of the classes.
inline void softmax_layer(const Matrix& w, const Matrix& x, const Matrix& y) {
  Kokkos::parallel_for(
      "softmax_layer", batch, KOKKOS_LAMBDA(const int b) {
        float largest = 0, total = 0;
        for (int c = 0; c < classes; ++c) {
          y(b, c) = 0;
          for (int u = 0; u < hidden; ++u) y(b, c) += w(c, u) * x(b, u);
          largest = y(b, c) > largest ? y(b, c) : largest;
        }
        for (int c = 0; c < classes; ++c) total += y(b, c) = std::exp(y(b, c) - largest);
        for (int c = 0; c < classes; ++c) y(b, c) /= total;
      });
}

/// The mean cross-entropy by what enters each unit; `y` becomes that of the outputs.
inline void errors(const Matrix& w, const Labels& label, int begin, const Matrix& y,
                   const Matrix& x, const Matrix& delta) {
  Kokkos::parallel_for(
      "errors", batch, KOKKOS_LAMBDA(const int b) {
        y(b, label(begin + b)) -= 1;
        for (int c = 0; c < classes; ++c) y(b, c) /= batch;
        for (int u = 0; u < hidden; ++u) {
          float sum = 0;
          for (int c = 0; c < classes; ++c) sum += w(c, u) * y(b, c);
          delta(b, u) = x(b, u) > 0 ? sum : 0;
        }
      });
}

/// The gradient of one layer's weights: what went in, from row `begin` on, by what came back.
inline void layer_gradient(const Matrix& delta, const Matrix& x, int begin, const Matrix& g) {
  const int columns = static_cast<int>(g.extent(1));
  Kokkos::parallel_for(
      "layer_gradient", g.size(), KOKKOS_LAMBDA(const int i) {
        const int row = i / columns, column = i % columns;
        float sum = 0;
        for (int b = 0; b < batch; ++b) sum += delta(b, row) * x(begin + b, column);
        g(row, column) = sum;
      });
}

inline void descend(const Matrix& weights, const Matrix& gradient, float rate) {
  Kokkos::parallel_for(
      "descend", weights.size(),
      KOKKOS_LAMBDA(const std::size_t i) { weights.data()[i] -= rate * gradient.data()[i]; });
}

/// How many of a batch are put into the right class.
inline int correct(const Matrix& y, const Labels& label, int begin) {
  int right = 0;
  Kokkos::parallel_reduce(
      "correct", batch,
      KOKKOS_LAMBDA(const int b, int& count) {
        int best = 0;
        for (int c = 1; c < classes; ++c) best = y(b, c) > y(b, best) ? c : best;
        count += best == label(begin + b) ? 1 : 0;
      },
      right);
  return right;
}

}  // namespace demo

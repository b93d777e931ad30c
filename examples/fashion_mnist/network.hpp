// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "dataset.hpp"

#include <pactrain/pactrain.hpp>

#include <Eigen/Core>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace demo {

/// One value for every parameter of the network (its weights, their gradient, their velocity):
/// one aligned block, and its named parts. Alignment is part of determinism: vectorised sums
/// start where a block does.
class Parameters {
 public:
  Parameters();
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  /// The parts, each layer's weight and bias: "fc1.weight", "fc1.bias", "fc2.weight", ...
  const std::vector<pactrain::Slice<float>>& parts() const { return parts_; }
  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }

  using Weight = Eigen::Map<Eigen::MatrixXf, Eigen::AlignedMax>;
  using Bias = Eigen::Map<Eigen::VectorXf, Eigen::AlignedMax>;
  Weight weight(std::size_t layer) const;
  Bias bias(std::size_t layer) const;

 private:
  std::vector<float, Eigen::aligned_allocator<float>> values_;
  std::vector<pactrain::Slice<float>> parts_;
};

/// A perceptron 784-1024-1024-10 with rectified units and a softmax at its end. It owns the
/// activations, not the weights, and runs on the calling thread alone.
class Network {
 public:
  static constexpr std::size_t layers = 3;
  static constexpr std::array<std::size_t, layers + 1> widths = {Dataset::pixels, 1024, 1024,
                                                                 Dataset::classes};

  /// Weights drawn from He's normal distribution; biases zero.
  static void initialise(Parameters& weights, std::uint64_t seed);

  /// Writes the gradient of the mean cross-entropy over the pictures; gives that mean. Logits are
  /// divided by `temperature` first.
  double backward(const Parameters& weights, const Dataset& data,
                  std::span<const std::uint32_t> pictures, Parameters& gradient,
                  float temperature = 1);

  /// Writes the product of that loss's Hessian with a direction (Pearlmutter, "Fast exact
  /// multiplication by the Hessian", 1994), at the pictures and weights of the `backward` before.
  void hessian_product(const Parameters& weights, const Parameters& direction, float temperature,
                       Parameters& product);

  /// How many of the pictures [first, last) are put into the right class.
  std::size_t correct(const Parameters& weights, const Dataset& data, std::size_t first,
                      std::size_t last);

 private:
  void load(const Dataset& data, std::span<const std::uint32_t> pictures);
  void forward(const Parameters& weights);

  std::array<Eigen::MatrixXf, layers + 1> activation_;  // a column per picture; first the input
  std::array<Eigen::MatrixXf, layers + 1> delta_;       // the loss by what enters the unit
  std::array<Eigen::MatrixXf, layers + 1> activation_along_, delta_along_;  // and by a direction
};

/// 64 bits that stand for the exact bits of all values.
std::uint64_t fingerprint(std::span<const float> values);

}  // namespace demo

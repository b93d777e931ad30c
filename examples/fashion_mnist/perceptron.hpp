// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "dataset.hpp"
#include "network.hpp"

#include <Eigen/Core>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace demo {

/// A perceptron 784-1024-1024-10 with rectified units and a softmax at its end, for Fashion-MNIST.
class Perceptron final : public Network {
 public:
  static constexpr std::size_t layers = 3;
  static constexpr std::array<std::size_t, layers + 1> widths = {Dataset::pixels, 1024, 1024,
                                                                 Dataset::classes};

  explicit Perceptron(std::shared_ptr<const FashionMnist> data);

  /// Each layer's weight and bias: "fc1.weight", "fc1.bias", "fc2.weight", ...
  const std::vector<Shape>& shapes() const override { return shapes_; }
  std::vector<std::string> exempt() const override;
  /// Weights drawn from He's normal distribution; biases zero.
  void initialise(Parameters& weights, std::uint64_t seed) const override;

  std::size_t train_size() const override { return data_->train.size(); }
  std::size_t test_size() const override { return data_->test.size(); }
  std::size_t label(std::size_t example) const override { return data_->train.label(example); }

  using Network::backward;
  double backward(const Parameters& weights, std::span<const std::uint32_t> pictures,
                  Parameters& gradient, const Ready& ready) override {
    return backward(weights, pictures, gradient, ready, 1);
  }
  /// The same of logits that are divided by `temperature`.
  double backward(const Parameters& weights, std::span<const std::uint32_t> pictures,
                  Parameters& gradient, const Ready& ready, float temperature);

  /// Writes the product of that loss's Hessian with a direction (Pearlmutter, "Fast exact
  /// multiplication by the Hessian", 1994), at the pictures and weights of the `backward` before.
  void hessian_product(const Parameters& weights, const Parameters& direction, float temperature,
                       Parameters& product);

  Score test(const Parameters& weights, std::size_t first, std::size_t last) override;

 private:
  void forward(const Parameters& weights);

  std::shared_ptr<const FashionMnist> data_;
  std::vector<Shape> shapes_;
  std::array<Eigen::MatrixXf, layers + 1> activation_;  // a column per picture; first the input
  std::array<Eigen::MatrixXf, layers + 1> delta_;       // the loss by what enters the unit
  std::array<Eigen::MatrixXf, layers + 1> activation_along_, delta_along_;  // and by a direction
};

}  // namespace demo

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

/// Two convolutions of 5 x 5 that halve the picture (16 and 32 channels), a layer of 256 units and
/// a softmax, rectified in between, for Fashion-MNIST.
class Convolutional final : public Network {
 public:
  explicit Convolutional(std::shared_ptr<const FashionMnist> data);

  /// Each layer's weight and bias: "conv1.weight", ..., "conv2.bias", "fc1.weight", ...,
  /// "fc2.bias". A convolution's weight has a row for each channel that comes out.
  const std::vector<Shape>& shapes() const override { return shapes_; }
  std::vector<std::string> exempt() const override;
  /// Weights drawn from He's normal distribution; biases zero.
  void initialise(Parameters& weights, std::uint64_t seed) const override;

  std::size_t train_size() const override { return data_->train.size(); }
  std::size_t test_size() const override { return data_->test.size(); }
  std::size_t label(std::size_t example) const override { return data_->train.label(example); }

  using Network::backward;
  double backward(const Parameters& weights, std::span<const std::uint32_t> pictures,
                  Parameters& gradient, const Ready& ready) override;
  Score test(const Parameters& weights, std::size_t first, std::size_t last) override;

 private:
  static constexpr std::size_t layers = 4;
  void forward(const Parameters& weights);

  std::shared_ptr<const FashionMnist> data_;
  std::vector<Shape> shapes_;
  // A column for each picture, or for each of its pixels; those that come in as patches.
  Eigen::MatrixXf pictures_;
  std::array<Eigen::MatrixXf, layers> in_, out_, delta_;
};

}  // namespace demo

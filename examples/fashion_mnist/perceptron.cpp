// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "perceptron.hpp"

#include "softmax.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace demo {
namespace {

constexpr std::size_t inputs(std::size_t layer) { return Perceptron::widths[layer]; }
constexpr std::size_t outputs(std::size_t layer) { return Perceptron::widths[layer + 1]; }
constexpr std::size_t weight_of(std::size_t layer) { return 2 * layer; }
constexpr std::size_t bias_of(std::size_t layer) { return 2 * layer + 1; }

Eigen::Index extent(std::size_t n) { return static_cast<Eigen::Index>(n); }

}  // namespace

Perceptron::Perceptron(std::shared_ptr<const FashionMnist> data) : data_(std::move(data)) {
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::string name = "fc" + std::to_string(layer + 1);
    shapes_.push_back({name + ".weight", outputs(layer), inputs(layer)});
    shapes_.push_back({name + ".bias", outputs(layer)});
  }
}

std::vector<std::string> Perceptron::exempt() const {
  return {"fc1.bias", "fc2.bias", "fc3.weight", "fc3.bias"};
}

void Perceptron::initialise(Parameters& weights, std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(inputs(layer)));
    std::normal_distribution<double> draw(0.0, deviation);
    for (float& w : weights.parts()[weight_of(layer)].values) w = static_cast<float>(draw(random));
    weights.vector(bias_of(layer)).setZero();
  }
}

void Perceptron::forward(const Parameters& weights) {
  for (std::size_t layer = 0; layer < layers; ++layer) {
    Eigen::MatrixXf& out = activation_[layer + 1];
    out.noalias() = weights.matrix(weight_of(layer)) * activation_[layer];
    const Parameters::Vector bias = weights.vector(bias_of(layer));
    for (Eigen::Index column = 0; column < out.cols(); ++column) {
      if (layer + 1 < layers) out.col(column) = (out.col(column) + bias).cwiseMax(0.0f);
      else out.col(column) += bias;
    }
  }
}

double Perceptron::backward(const Parameters& weights, std::span<const std::uint32_t> pictures,
                            Parameters& gradient, const Ready& ready, float temperature) {
  data_->train.load(pictures, activation_[0]);
  forward(weights);
  activation_[layers] /= temperature;
  const auto label = [&](Eigen::Index column) {
    return extent(data_->train.label(pictures[static_cast<std::size_t>(column)]));
  };
  const double loss = cross_entropy(activation_[layers], label, delta_[layers], temperature);
  for (std::size_t layer = layers; layer-- > 0;) {
    const Eigen::MatrixXf& out = delta_[layer + 1];
    gradient.vector(bias_of(layer)) = out.rowwise().sum();
    ready(bias_of(layer));
    gradient.matrix(weight_of(layer)).noalias() = out * activation_[layer].transpose();
    ready(weight_of(layer));
    if (layer == 0) break;
    delta_[layer].noalias() = weights.matrix(weight_of(layer)).transpose() * out;
    delta_[layer].array() *= (activation_[layer].array() > 0).cast<float>();
  }
  return loss;
}

void Perceptron::hessian_product(const Parameters& weights, const Parameters& direction,
                                 float temperature, Parameters& product) {
  activation_along_[0].setZero(activation_[0].rows(), activation_[0].cols());
  for (std::size_t layer = 0; layer < layers; ++layer) {
    Eigen::MatrixXf& along = activation_along_[layer + 1];
    along.noalias() = direction.matrix(weight_of(layer)) * activation_[layer];
    along.noalias() += weights.matrix(weight_of(layer)) * activation_along_[layer];
    along.colwise() += Eigen::VectorXf(direction.vector(bias_of(layer)));
    if (layer + 1 < layers) along.array() *= (activation_[layer + 1].array() > 0).cast<float>();
  }
  // The error is (p - y) / (n T) for p = softmax(z / T), so it changes by (diag(p) - p p^T) z' / (n
  // T^2).
  const Eigen::MatrixXf& logits = activation_[layers];  // divided by T
  Eigen::MatrixXf& change = delta_along_[layers];
  change.resize(logits.rows(), logits.cols());
  const float share = 1 / (static_cast<float>(logits.cols()) * temperature * temperature);
  for (Eigen::Index column = 0; column < logits.cols(); ++column) {
    Eigen::VectorXf p = (logits.col(column).array() - logits.col(column).maxCoeff()).exp();
    p /= p.sum();
    const auto along = activation_along_[layers].col(column);
    change.col(column) = share * (p.cwiseProduct(along) - p * p.dot(along));
  }
  for (std::size_t layer = layers; layer-- > 0;) {
    const Eigen::MatrixXf& out = delta_along_[layer + 1];
    product.matrix(weight_of(layer)).noalias() = out * activation_[layer].transpose();
    product.matrix(weight_of(layer)).noalias() +=
        delta_[layer + 1] * activation_along_[layer].transpose();
    product.vector(bias_of(layer)) = out.rowwise().sum();
    if (layer == 0) break;
    delta_along_[layer].noalias() =
        direction.matrix(weight_of(layer)).transpose() * delta_[layer + 1];
    delta_along_[layer].noalias() += weights.matrix(weight_of(layer)).transpose() * out;
    delta_along_[layer].array() *= (activation_[layer].array() > 0).cast<float>();
  }
}

Score Perceptron::test(const Parameters& weights, std::size_t first, std::size_t last) {
  constexpr std::size_t at_once = 250;
  std::vector<std::uint32_t> pictures;
  Score score{0, last - first};
  for (; first < last; first += pictures.size()) {
    pictures.resize(std::min(at_once, last - first));
    std::iota(pictures.begin(), pictures.end(), static_cast<std::uint32_t>(first));
    data_->test.load(pictures, activation_[0]);
    forward(weights);
    score.right += right_answers(activation_[layers], [&](Eigen::Index column) {
      return extent(data_->test.label(first + static_cast<std::size_t>(column)));
    });
  }
  return score;
}

}  // namespace demo

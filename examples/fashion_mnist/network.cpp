// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "network.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace demo {
namespace {

constexpr std::size_t inputs(std::size_t layer) { return Network::widths[layer]; }
constexpr std::size_t outputs(std::size_t layer) { return Network::widths[layer + 1]; }

Eigen::Index extent(std::size_t n) { return static_cast<Eigen::Index>(n); }

// Mean and deviation of Fashion-MNIST's training pixels, as parts of 255.
constexpr float pixel_mean = 0.2860f * 255, pixel_deviation = 0.3530f * 255;

}  // namespace

Parameters::Parameters() {
  std::size_t total = 0;
  for (std::size_t layer = 0; layer < Network::layers; ++layer)
    total += (inputs(layer) + 1) * outputs(layer);
  values_.resize(total);
  const std::span<float> all(values_);
  std::size_t first = 0;
  for (std::size_t layer = 0; layer < Network::layers; ++layer) {
    const std::string name = "fc" + std::to_string(layer + 1);
    const std::size_t count = inputs(layer) * outputs(layer);
    // Column after column: the rows of the slice are the columns of the matrix.
    parts_.push_back({name + ".weight", all.subspan(first, count), inputs(layer)});
    parts_.push_back({name + ".bias", all.subspan(first + count, outputs(layer)), 0});
    first += count + outputs(layer);
  }
}

Parameters::Weight Parameters::weight(std::size_t layer) const {
  return {parts_[2 * layer].values.data(), extent(outputs(layer)), extent(inputs(layer))};
}

Parameters::Bias Parameters::bias(std::size_t layer) const {
  return {parts_[2 * layer + 1].values.data(), extent(outputs(layer))};
}

void Network::initialise(Parameters& weights, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(inputs(layer)));
    std::normal_distribution<double> draw(0.0, deviation);
    for (float& w : weights.parts()[2 * layer].values) w = static_cast<float>(draw(random));
    weights.bias(layer).setZero();
  }
}

void Network::load(const Dataset& data, std::span<const std::uint32_t> pictures) {
  Eigen::MatrixXf& input = activation_[0];
  input.resize(extent(Dataset::pixels), extent(pictures.size()));
  for (std::size_t column = 0; column < pictures.size(); ++column) {
    using Bytes = Eigen::Map<const Eigen::Array<std::uint8_t, Eigen::Dynamic, 1>>;
    const Bytes bytes(data.image(pictures[column]).data(), extent(Dataset::pixels));
    input.col(extent(column)) = (bytes.cast<float>() - pixel_mean) * (1 / pixel_deviation);
  }
}

void Network::forward(const Parameters& weights) {
  for (std::size_t layer = 0; layer < layers; ++layer) {
    Eigen::MatrixXf& out = activation_[layer + 1];
    out.noalias() = weights.weight(layer) * activation_[layer];
    const Parameters::Bias bias = weights.bias(layer);
    for (Eigen::Index column = 0; column < out.cols(); ++column) {
      if (layer + 1 < layers) out.col(column) = (out.col(column) + bias).cwiseMax(0.0f);
      else out.col(column) += bias;
    }
  }
}

double Network::backward(const Parameters& weights, const Dataset& data,
                         std::span<const std::uint32_t> pictures, Parameters& gradient,
                         float temperature) {
  load(data, pictures);
  forward(weights);
  activation_[layers] /= temperature;
  const Eigen::MatrixXf& logits = activation_[layers];
  Eigen::MatrixXf& error = delta_[layers];
  error.resize(logits.rows(), logits.cols());
  const float share = 1 / static_cast<float>(pictures.size());
  double loss = 0;
  for (Eigen::Index column = 0; column < logits.cols(); ++column) {
    const auto label = extent(data.label(pictures[static_cast<std::size_t>(column)]));
    error.col(column) = (logits.col(column).array() - logits.col(column).maxCoeff()).exp();
    error.col(column) /= error.col(column).sum();
    loss -= std::log(std::max(error(label, column), 1e-30f));
    error(label, column) -= 1;
    error.col(column) *= share / temperature;
  }
  for (std::size_t layer = layers; layer-- > 0;) {
    const Eigen::MatrixXf& out = delta_[layer + 1];
    gradient.weight(layer).noalias() = out * activation_[layer].transpose();
    gradient.bias(layer) = out.rowwise().sum();
    if (layer == 0) break;
    delta_[layer].noalias() = weights.weight(layer).transpose() * out;
    delta_[layer].array() *= (activation_[layer].array() > 0).cast<float>();
  }
  return loss * share;
}

void Network::hessian_product(const Parameters& weights, const Parameters& direction,
                              float temperature, Parameters& product) {
  activation_along_[0].setZero(activation_[0].rows(), activation_[0].cols());
  for (std::size_t layer = 0; layer < layers; ++layer) {
    Eigen::MatrixXf& along = activation_along_[layer + 1];
    along.noalias() = direction.weight(layer) * activation_[layer];
    along.noalias() += weights.weight(layer) * activation_along_[layer];
    along.colwise() += Eigen::VectorXf(direction.bias(layer));
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
    product.weight(layer).noalias() = out * activation_[layer].transpose();
    product.weight(layer).noalias() += delta_[layer + 1] * activation_along_[layer].transpose();
    product.bias(layer) = out.rowwise().sum();
    if (layer == 0) break;
    delta_along_[layer].noalias() = direction.weight(layer).transpose() * delta_[layer + 1];
    delta_along_[layer].noalias() += weights.weight(layer).transpose() * out;
    delta_along_[layer].array() *= (activation_[layer].array() > 0).cast<float>();
  }
}

std::size_t Network::correct(const Parameters& weights, const Dataset& data, std::size_t first,
                             std::size_t last) {
  constexpr std::size_t at_once = 250;
  std::vector<std::uint32_t> pictures;
  std::size_t right = 0;
  for (; first < last; first += pictures.size()) {
    pictures.resize(std::min(at_once, last - first));
    for (std::size_t i = 0; i < pictures.size(); ++i)
      pictures[i] = static_cast<std::uint32_t>(first + i);
    load(data, pictures);
    forward(weights);
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      Eigen::Index answer = 0;
      activation_[layers].col(extent(i)).maxCoeff(&answer);
      right += answer == extent(data.label(first + i)) ? 1u : 0u;
    }
  }
  return right;
}

std::uint64_t fingerprint(std::span<const float> values) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u ^ values.size();
  for (const float value : values) {
    hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace demo

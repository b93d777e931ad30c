// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolutional.hpp"

#include "patches.hpp"
#include "softmax.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace demo {
namespace {

constexpr std::array<Patches, 2> convolutions = {Patches{1, 28}, Patches{16, 14}};
constexpr Eigen::Index flat = 32 * 7 * 7;  // what comes out of them
constexpr std::size_t weight_of(std::size_t layer) { return 2 * layer; }
constexpr std::size_t bias_of(std::size_t layer) { return 2 * layer + 1; }

std::size_t count(Eigen::Index n) { return static_cast<std::size_t>(n); }

/// The same values in columns of another length.
Eigen::Map<const Eigen::MatrixXf> with_rows(const Eigen::MatrixXf& values, Eigen::Index rows) {
  return {values.data(), rows, values.size() / rows};
}

}  // namespace

Convolutional::Convolutional(std::shared_ptr<const FashionMnist> data) : data_(std::move(data)) {
  const auto layer = [&](const std::string& name, std::size_t outputs, Eigen::Index inputs) {
    shapes_.push_back({name + ".weight", outputs, count(inputs)});
    shapes_.push_back({name + ".bias", outputs});
  };
  layer("conv1", 16, convolutions[0].rows());
  layer("conv2", 32, convolutions[1].rows());
  layer("fc1", 256, flat);
  layer("fc2", Dataset::classes, 256);
}

std::vector<std::string> Convolutional::exempt() const {
  return {"conv1.weight", "conv1.bias", "conv2.bias", "fc1.bias", "fc2.weight", "fc2.bias"};
}

void Convolutional::initialise(Parameters& weights, std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(shapes_[2 * layer].columns));
    std::normal_distribution<double> draw(0.0, deviation);
    for (float& w : weights.parts()[weight_of(layer)].values) w = static_cast<float>(draw(random));
    weights.vector(bias_of(layer)).setZero();
  }
}

void Convolutional::forward(const Parameters& weights) {
  for (std::size_t layer = 0; layer < layers; ++layer) {
    if (layer == 0) convolutions[0].gather(with_rows(pictures_, 1), in_[0]);
    else if (layer == 1) convolutions[1].gather(out_[0], in_[1]);
    else in_[layer] = with_rows(out_[layer - 1], weights.matrix(weight_of(layer)).cols());
    out_[layer].noalias() = weights.matrix(weight_of(layer)) * in_[layer];
    out_[layer].colwise() += weights.vector(bias_of(layer)).eval();
    if (layer + 1 < layers) out_[layer] = out_[layer].cwiseMax(0.0f);
  }
}

double Convolutional::backward(const Parameters& weights, std::span<const std::uint32_t> pictures,
                               Parameters& gradient, const Ready& ready) {
  data_->train.load(pictures, pictures_);
  forward(weights);
  const double loss = cross_entropy(
      out_[layers - 1],
      [&](Eigen::Index column) {
        return static_cast<Eigen::Index>(data_->train.label(pictures[count(column)]));
      },
      delta_[layers - 1]);
  Eigen::MatrixXf before;  // by what came in
  for (std::size_t layer = layers; layer-- > 0;) {
    gradient.vector(bias_of(layer)) = delta_[layer].rowwise().sum();
    ready(bias_of(layer));
    gradient.matrix(weight_of(layer)).noalias() = delta_[layer] * in_[layer].transpose();
    ready(weight_of(layer));
    if (layer == 0) break;
    before.noalias() = weights.matrix(weight_of(layer)).transpose() * delta_[layer];
    if (layer == 1) convolutions[1].scatter(before, delta_[0]);
    else delta_[layer - 1] = with_rows(before, out_[layer - 1].rows());
    delta_[layer - 1].array() *= (out_[layer - 1].array() > 0).cast<float>();
  }
  return loss;
}

Score Convolutional::test(const Parameters& weights, std::size_t first, std::size_t last) {
  constexpr std::size_t at_once = 100;
  std::vector<std::uint32_t> pictures;
  Score score{0, last - first};
  for (; first < last; first += pictures.size()) {
    pictures.resize(std::min(at_once, last - first));
    std::iota(pictures.begin(), pictures.end(), static_cast<std::uint32_t>(first));
    data_->test.load(pictures, pictures_);
    forward(weights);
    score.right += right_answers(out_[layers - 1], [&](Eigen::Index column) {
      return static_cast<Eigen::Index>(data_->test.label(first + count(column)));
    });
  }
  return score;
}

}  // namespace demo

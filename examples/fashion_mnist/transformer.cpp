// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "transformer.hpp"

#include "softmax.hpp"

#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace demo {
namespace {

constexpr std::size_t channels = 128, heads = 4, widening = 4;
constexpr Eigen::Index width = channels, head = channels / heads, length = Text::window;
const float attention_scale = 1 / std::sqrt(static_cast<float>(head));

// Places of the parameters in the list of shapes.
constexpr std::size_t embedding = 0, position = 1;
struct Places {
  std::size_t norm1, qkv, mix, norm2, up, down;
};
constexpr Places places(std::size_t block) {
  const std::size_t first = 2 + 6 * block;
  return {first, first + 1, first + 2, first + 3, first + 4, first + 5};
}

}  // namespace

Transformer::Transformer(std::shared_ptr<const Text> text) : text_(std::move(text)) {
  shapes_ = {{"embedding.weight", channels, text_->alphabet()},
             {"position.weight", channels, Text::window}};
  for (std::size_t block = 1; block <= blocks; ++block) {
    const std::string name = "block" + std::to_string(block);
    shapes_.push_back({name + ".norm1.gain", channels});
    shapes_.push_back({name + ".qkv.weight", 3 * channels, channels});
    shapes_.push_back({name + ".mix.weight", channels, channels});
    shapes_.push_back({name + ".norm2.gain", channels});
    shapes_.push_back({name + ".up.weight", widening * channels, channels});
    shapes_.push_back({name + ".down.weight", channels, widening * channels});
  }
  shapes_.push_back({"norm.gain", channels});
  shapes_.push_back({"out.weight", text_->alphabet(), channels});
}

std::vector<std::string> Transformer::exempt() const {
  std::vector<std::string> names = {"embedding.weight", "position.weight", "out.weight"};
  for (const Shape& shape : shapes_)
    if (shape.columns == 1) names.push_back(shape.name);
  return names;
}

void Transformer::initialise(Parameters& weights, std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  for (std::size_t part = 0; part < shapes_.size(); ++part) {
    const Shape& shape = shapes_[part];
    if (shape.columns == 1) {
      weights.vector(part).setOnes();
      continue;
    }
    // What blocks add to the stream is small at first.
    const bool adds = shape.name.ends_with("mix.weight") || shape.name.ends_with("down.weight");
    double deviation = std::sqrt(1 / static_cast<double>(shape.columns));
    if (adds) deviation /= std::sqrt(2.0 * blocks);
    if (part == embedding || part == position) deviation = 0.1;
    std::normal_distribution<double> draw(0.0, deviation);
    for (float& w : weights.parts()[part].values) w = static_cast<float>(draw(random));
  }
}

void Transformer::Norm::forward(const Eigen::MatrixXf& in, const Eigen::VectorXf& gain) {
  factor = (in.colwise().squaredNorm().array() / static_cast<float>(width) + 1e-5f).rsqrt();
  scaled = in.array().rowwise() * factor.array();
  out = scaled.array().colwise() * gain.array();
}

Eigen::VectorXf Transformer::Norm::backward(const Eigen::MatrixXf& delta,
                                            const Eigen::VectorXf& gain,
                                            Eigen::MatrixXf& delta_in) const {
  const Eigen::MatrixXf by_scaled = delta.array().colwise() * gain.array();
  const Eigen::RowVectorXf along =
      by_scaled.cwiseProduct(scaled).colwise().sum() / static_cast<float>(width);
  delta_in.array() +=
      (by_scaled.array() - scaled.array().rowwise() * along.array()).rowwise() * factor.array();
  return delta.cwiseProduct(scaled).rowwise().sum();
}

void Transformer::read(std::span<const std::uint32_t> windows) {
  seen_.clear();
  next_.clear();
  for (const std::uint32_t window : windows) {
    const std::span<const std::uint8_t> characters = text_->characters(window);
    seen_.insert(seen_.end(), characters.begin(), characters.end() - 1);
    next_.insert(next_.end(), characters.begin() + 1, characters.end());
  }
}

void Transformer::attend(Block& block) const {
  const Eigen::Index windows = block.qkv.cols() / length;
  block.attention.resize(heads * static_cast<std::size_t>(windows));
  block.mixed.resize(width, block.qkv.cols());
  auto attention = block.attention.begin();
  for (Eigen::Index window = 0; window < windows; ++window) {
    for (Eigen::Index row = 0; row < width; row += head, ++attention) {
      const auto part = [&](Eigen::Index which) {
        return block.qkv.block(which * width + row, window * length, head, length);
      };
      attention->noalias() = part(1).transpose() * part(0);
      for (Eigen::Index query = 0; query < length; ++query) {
        auto before = attention->col(query).head(query + 1);
        before = ((before.array() - before.maxCoeff()) * attention_scale).exp();
        before /= before.sum();
        attention->col(query).tail(length - query - 1).setZero();
      }
      block.mixed.block(row, window * length, head, length).noalias() = part(2) * *attention;
    }
  }
}

void Transformer::attend_backward(const Block& block, const Eigen::MatrixXf& delta,
                                  Eigen::MatrixXf& delta_qkv) const {
  delta_qkv.resize(block.qkv.rows(), block.qkv.cols());
  auto attention = block.attention.begin();
  Eigen::MatrixXf by_score;
  for (Eigen::Index column = 0; column < block.qkv.cols(); column += length) {
    for (Eigen::Index row = 0; row < width; row += head, ++attention) {
      const auto part = [&](auto& qkv, Eigen::Index which) {
        return qkv.block(which * width + row, column, head, length);
      };
      const auto by_mixed = delta.block(row, column, head, length);
      part(delta_qkv, 2).noalias() = by_mixed * attention->transpose();
      by_score.noalias() = part(block.qkv, 2).transpose() * by_mixed;
      const Eigen::RowVectorXf mean = by_score.cwiseProduct(*attention).colwise().sum();
      by_score =
          (attention_scale * attention->array() * (by_score.array().rowwise() - mean.array()))
              .eval();
      part(delta_qkv, 0).noalias() = part(block.qkv, 1) * by_score;
      part(delta_qkv, 1).noalias() = part(block.qkv, 0) * by_score.transpose();
    }
  }
}

void Transformer::forward(const Parameters& weights) {
  const auto tokens = static_cast<Eigen::Index>(seen_.size());
  stream_.resize(width, tokens);
  for (Eigen::Index token = 0; token < tokens; ++token)
    stream_.col(token) = weights.matrix(embedding).col(seen_[static_cast<std::size_t>(token)]) +
                         weights.matrix(position).col(token % length);
  for (std::size_t i = 0; i < blocks; ++i) {
    const Places at = places(i);
    Block& block = blocks_[i];
    block.norm1.forward(stream_, weights.vector(at.norm1));
    block.qkv.noalias() = weights.matrix(at.qkv) * block.norm1.out;
    attend(block);
    stream_.noalias() += weights.matrix(at.mix) * block.mixed;
    block.norm2.forward(stream_, weights.vector(at.norm2));
    block.up.noalias() = weights.matrix(at.up) * block.norm2.out;
    block.up = block.up.cwiseMax(0.0f);
    stream_.noalias() += weights.matrix(at.down) * block.up;
  }
  norm_.forward(stream_, weights.vector(shapes_.size() - 2));
  logits_.noalias() = weights.matrix(shapes_.size() - 1) * norm_.out;
}

/// `delta_` is the loss by the stream behind the block, and becomes that before it.
void Transformer::backward_block(std::size_t index, const Parameters& weights, Parameters& gradient,
                                 const Ready& ready) {
  const Places at = places(index);
  const Block& block = blocks_[index];
  Eigen::MatrixXf inner, outer;
  gradient.matrix(at.down).noalias() = delta_ * block.up.transpose();
  ready(at.down);
  inner.noalias() = weights.matrix(at.down).transpose() * delta_;
  inner.array() *= (block.up.array() > 0).cast<float>();
  gradient.matrix(at.up).noalias() = inner * block.norm2.out.transpose();
  ready(at.up);
  outer.noalias() = weights.matrix(at.up).transpose() * inner;
  gradient.vector(at.norm2) = block.norm2.backward(outer, weights.vector(at.norm2), delta_);
  ready(at.norm2);
  gradient.matrix(at.mix).noalias() = delta_ * block.mixed.transpose();
  ready(at.mix);
  outer.noalias() = weights.matrix(at.mix).transpose() * delta_;
  attend_backward(block, outer, inner);
  gradient.matrix(at.qkv).noalias() = inner * block.norm1.out.transpose();
  ready(at.qkv);
  outer.noalias() = weights.matrix(at.qkv).transpose() * inner;
  gradient.vector(at.norm1) = block.norm1.backward(outer, weights.vector(at.norm1), delta_);
  ready(at.norm1);
}

double Transformer::backward(const Parameters& weights, std::span<const std::uint32_t> windows,
                             Parameters& gradient, const Ready& ready) {
  read(windows);
  forward(weights);
  const double loss = cross_entropy(
      logits_,
      [&](Eigen::Index token) {
        return static_cast<Eigen::Index>(next_[static_cast<std::size_t>(token)]);
      },
      error_);
  const std::size_t out = shapes_.size() - 1, gain = out - 1;
  gradient.matrix(out).noalias() = error_ * norm_.out.transpose();
  ready(out);
  const Eigen::MatrixXf by_norm = weights.matrix(out).transpose() * error_;
  delta_.setZero(width, by_norm.cols());
  gradient.vector(gain) = norm_.backward(by_norm, weights.vector(gain), delta_);
  ready(gain);
  for (std::size_t block = blocks; block-- > 0;) backward_block(block, weights, gradient, ready);
  gradient.matrix(embedding).setZero();
  gradient.matrix(position).setZero();
  for (Eigen::Index token = 0; token < delta_.cols(); ++token) {
    gradient.matrix(position).col(token % length) += delta_.col(token);
    gradient.matrix(embedding).col(seen_[static_cast<std::size_t>(token)]) += delta_.col(token);
  }
  ready(position);
  ready(embedding);
  return loss;
}

Score Transformer::test(const Parameters& weights, std::size_t first, std::size_t last) {
  constexpr std::size_t at_once = 8;
  std::vector<std::uint32_t> windows;
  Score score{0, (last - first) * Text::window};
  for (; first < last; first += windows.size()) {
    windows.resize(std::min(at_once, last - first));
    std::iota(windows.begin(), windows.end(),
              static_cast<std::uint32_t>(text_->train_size() + first));
    read(windows);
    forward(weights);
    score.right += right_answers(logits_, [&](Eigen::Index token) {
      return static_cast<Eigen::Index>(next_[static_cast<std::size_t>(token)]);
    });
  }
  return score;
}

}  // namespace demo

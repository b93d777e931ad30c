// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "network.hpp"
#include "text.hpp"

#include <Eigen/Core>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace demo {

/// A transformer that predicts the next character of a text: two blocks of four causal heads and of
/// a rectified layer four times as wide, on 128 channels, with normalised root mean squares before
/// each.
class Transformer final : public Network {
 public:
  explicit Transformer(std::shared_ptr<const Text> text);

  /// "embedding.weight", "position.weight"; of each block "block1.norm1.gain", "block1.qkv.weight",
  /// "block1.mix.weight", "block1.norm2.gain", "block1.up.weight", "block1.down.weight";
  /// "norm.gain", "out.weight".
  const std::vector<Shape>& shapes() const override { return shapes_; }
  std::vector<std::string> exempt() const override;
  void initialise(Parameters& weights, std::uint64_t seed) const override;

  std::size_t train_size() const override { return text_->train_size(); }
  std::size_t test_size() const override { return text_->test_size(); }

  using Network::backward;
  double backward(const Parameters& weights, std::span<const std::uint32_t> windows,
                  Parameters& gradient, const Ready& ready) override;
  /// Counts characters, `Text::window` in each example.
  Score test(const Parameters& weights, std::size_t first, std::size_t last) override;

 private:
  static constexpr std::size_t blocks = 2;

  /// Values scaled to a root mean square of one, and by a gain for each channel; a column a token.
  struct Norm {
    Eigen::MatrixXf scaled, out;
    Eigen::RowVectorXf factor;
    void forward(const Eigen::MatrixXf& in, const Eigen::VectorXf& gain);
    /// Adds the gradient by what came in to `delta_in`; returns that by the gain.
    Eigen::VectorXf backward(const Eigen::MatrixXf& delta, const Eigen::VectorXf& gain,
                             Eigen::MatrixXf& delta_in) const;
  };
  struct Block {
    Norm norm1, norm2;
    Eigen::MatrixXf qkv, mixed, up;
    std::vector<Eigen::MatrixXf> attention;  // by window and head: a column a query
  };

  void read(std::span<const std::uint32_t> windows);
  void forward(const Parameters& weights);
  void attend(Block& block) const;
  void attend_backward(const Block& block, const Eigen::MatrixXf& delta,
                       Eigen::MatrixXf& delta_qkv) const;
  void backward_block(std::size_t index, const Parameters& weights, Parameters& gradient,
                      const Ready& ready);

  std::shared_ptr<const Text> text_;
  std::vector<Shape> shapes_;
  std::vector<std::uint8_t> seen_, next_;  // a character a token
  std::array<Block, blocks> blocks_;
  Norm norm_;
  Eigen::MatrixXf stream_, logits_, error_, delta_;  // stream_: what blocks add to
};

}  // namespace demo

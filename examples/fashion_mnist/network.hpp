// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "parameters.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace demo {

/// Predictions that were right, of so many.
struct Score {
  std::size_t right = 0, of = 0;
};

/// Told that the gradient of a part of the parameters is complete; parts come last layer first.
using Ready = std::function<void(std::size_t part)>;

/// A network, and the examples that it learns from and is tested with. It owns the activations, not
/// the weights, and runs on the calling thread alone.
class Network {
 public:
  virtual ~Network() = default;

  /// The parameters, in the order of the forward pass.
  virtual const std::vector<Shape>& shapes() const = 0;
  /// Names of parameters that pruning leaves whole: small ones, and those of the last layer.
  virtual std::vector<std::string> exempt() const = 0;
  virtual void initialise(Parameters& weights, std::uint64_t seed) const = 0;

  virtual std::size_t train_size() const = 0;
  virtual std::size_t test_size() const = 0;
  /// The class, below ten, of a training example, where examples have one.
  virtual std::size_t label(std::size_t) const { return 0; }

  /// Writes the gradient of the mean cross-entropy over training examples; gives that mean.
  virtual double backward(const Parameters& weights, std::span<const std::uint32_t> examples,
                          Parameters& gradient, const Ready& ready) = 0;
  double backward(const Parameters& weights, std::span<const std::uint32_t> examples,
                  Parameters& gradient) {
    return backward(weights, examples, gradient, [](std::size_t) {});
  }
  /// How the test examples [first, last) are predicted.
  virtual Score test(const Parameters& weights, std::size_t first, std::size_t last) = 0;
};

/// Something to learn, for as many workers as there are: they share the data.
struct Problem {
  std::string title;
  std::function<std::unique_ptr<Network>()> make_network;
};

/// The names that `load_problem` knows.
inline const std::vector<std::string> network_names = {"perceptron", "convolutional",
                                                       "transformer"};

/// Reads what a network of this name learns from; an empty path is where Debian puts it. Throws
/// std::runtime_error that says what to do where data are missing or damaged.
Problem load_problem(const std::string& network, const std::filesystem::path& data);

}  // namespace demo

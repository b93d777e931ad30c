// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolutional.hpp"
#include "dataset.hpp"
#include "network.hpp"
#include "perceptron.hpp"
#include "text.hpp"
#include "transformer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using namespace demo;

namespace {

Dataset noise(std::size_t pictures, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> images(pictures * Dataset::pixels), labels(pictures);
  for (auto& pixel : images) pixel = static_cast<std::uint8_t>(random() % 256);
  for (auto& label : labels) label = static_cast<std::uint8_t>(random() % Dataset::classes);
  return Dataset(std::move(images), std::move(labels));
}
std::shared_ptr<const FashionMnist> some_pictures() {
  return std::make_shared<const FashionMnist>(FashionMnist{noise(8, 1), noise(20, 2)});
}
std::shared_ptr<const Text> some_text() {
  std::mt19937 random(3);
  std::string text;
  while (text.size() < 2000) text += static_cast<char>('a' + random() % 17);
  return std::make_shared<const Text>(text);
}

/// Along the gradient of each part the loss changes as fast as the gradient is long; every part is
/// reported once, the last one first.
void check_gradient(Network& network, const std::vector<std::uint32_t>& examples) {
  Parameters weights(network.shapes()), gradient(network.shapes()), other(network.shapes());
  network.initialise(weights, 7);
  std::vector<bool> reported(network.shapes().size());
  network.backward(weights, examples, gradient, [&](std::size_t part) {
    CHECK_FALSE(reported[part]);
    reported[part] = true;
    other.vector(part) = gradient.vector(part);
  });
  CHECK(reported == std::vector<bool>(reported.size(), true));
  Parameters ignored(network.shapes());
  for (std::size_t part = 0; part < network.shapes().size(); ++part) {
    CAPTURE(network.shapes()[part].name);
    CHECK(other.vector(part) == gradient.vector(part));  // complete when it was reported
    const float size = gradient.vector(part).norm();
    REQUIRE(size > 0);
    const Eigen::VectorXf before = weights.vector(part);
    const Eigen::VectorXf along = gradient.vector(part) / size;
    const float by = 0.01f / std::max(size, 0.1f);
    weights.vector(part) = before + by * along;
    const double above = network.backward(weights, examples, ignored);
    weights.vector(part) = before - by * along;
    const double below = network.backward(weights, examples, ignored);
    weights.vector(part) = before;
    CHECK((above - below) / (2 * by) == doctest::Approx(size).epsilon(0.02));
  }
}

/// Steps against the gradient of few examples end in knowing them.
void check_learning(Network& network, const std::vector<std::uint32_t>& examples, int steps) {
  Parameters weights(network.shapes()), gradient(network.shapes());
  network.initialise(weights, 7);
  const double first = network.backward(weights, examples, gradient);
  double loss = first;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t part = 0; part < network.shapes().size(); ++part)
      weights.vector(part) -= 0.05f * gradient.vector(part);
    loss = network.backward(weights, examples, gradient);
  }
  CHECK(loss < first / 2);
}

}  // namespace

TEST_CASE("the gradients are those of the losses") {
  SUBCASE("perceptron") {
    Perceptron network(some_pictures());
    check_gradient(network, {0, 3, 5});
  }
  SUBCASE("convolutional") {
    Convolutional network(some_pictures());
    check_gradient(network, {0, 3, 5});
  }
  SUBCASE("transformer") {
    Transformer network(some_text());
    check_gradient(network, {0, 4});
  }
}

TEST_CASE("a network learns what it is shown") {
  Convolutional network(some_pictures());
  check_learning(network, {0, 3, 5}, 20);
}

TEST_CASE("a score counts each prediction once, however the examples are cut") {
  const auto check = [](Network& network, std::size_t of_each) {
    Parameters weights(network.shapes());
    network.initialise(weights, 7);
    const std::size_t all = network.test_size(), middle = all / 3;
    const Score whole = network.test(weights, 0, all);
    const Score first = network.test(weights, 0, middle), rest = network.test(weights, middle, all);
    CHECK(whole.of == all * of_each);
    CHECK(first.of + rest.of == whole.of);
    CHECK(first.right + rest.right == whole.right);
  };
  Perceptron perceptron(some_pictures());
  check(perceptron, 1);
  Convolutional convolutional(some_pictures());
  check(convolutional, 1);
  Transformer transformer(some_text());
  check(transformer, Text::window);
}

TEST_CASE("a text is cut into windows, of which the last tenth is for tests") {
  std::string written;
  for (std::size_t i = 0; i < 40 * Text::window + 1; ++i) written += "zya"[i % 3];
  const Text text(written);
  CHECK(text.alphabet() == 3);
  CHECK(text.train_size() == 36);
  CHECK(text.test_size() == 4);
  for (std::size_t i = 0; i < 40; ++i) {
    REQUIRE(text.characters(i).size() == Text::window + 1);
    CHECK(text.characters(i)[0] == 2 - i * Text::window % 3);  // z, y, a in the alphabet's order
  }
  CHECK_THROWS_WITH_AS(Text("short"),
                       "a text of 5 characters is too short to learn from. Name a longer one by "
                       "--data.",
                       std::runtime_error);
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convolutional.hpp"
#include "dataset.hpp"
#include "network.hpp"
#include "perceptron.hpp"
#include "text.hpp"
#include "transformer.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace demo {

Problem load_problem(const std::string& network, const std::filesystem::path& data) {
  if (network == "transformer") {
    const auto text = std::make_shared<const Text>(load_text(data));
    return {"next characters, transformer of two blocks",
            [text] { return std::make_unique<Transformer>(text); }};
  }
  const auto pictures = std::make_shared<const FashionMnist>(
      load_fashion_mnist(data.empty() ? default_data_directory : data));
  if (network == "convolutional")
    return {"Fashion-MNIST, convolutional network",
            [pictures] { return std::make_unique<Convolutional>(pictures); }};
  return {"Fashion-MNIST, perceptron 784-1024-1024-10",
          [pictures] { return std::make_unique<Perceptron>(pictures); }};
}

}  // namespace demo

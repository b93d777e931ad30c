// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dataset.hpp"
#include "network.hpp"
#include "perceptron.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace demo {

Problem load_problem(const std::string&, const std::filesystem::path& data) {
  const auto pictures = std::make_shared<const FashionMnist>(
      load_fashion_mnist(data.empty() ? default_data_directory : data));
  return {"Fashion-MNIST, perceptron 784-1024-1024-10",
          [pictures] { return std::make_unique<Perceptron>(pictures); }};
}

}  // namespace demo

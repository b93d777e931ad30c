// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/pactrain.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace demo {

/// A parameter of a network: a matrix, or a vector where it has one column.
struct Shape {
  std::string name;
  std::size_t rows = 0, columns = 1;
};

/// One value for every parameter of a network (its weights, their gradient, their velocity): one
/// aligned block, and its named parts. Alignment is part of determinism: vectorised sums start
/// where a block does.
class Parameters {
 public:
  explicit Parameters(const std::vector<Shape>& shapes);
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  /// The parts, in the order of the shapes.
  const std::vector<pactrain::Slice<float>>& parts() const { return parts_; }
  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }

  using Matrix = Eigen::Map<Eigen::MatrixXf>;
  using Vector = Eigen::Map<Eigen::VectorXf>;
  Matrix matrix(std::size_t part) const;
  Vector vector(std::size_t part) const;

 private:
  std::vector<float, Eigen::aligned_allocator<float>> values_;
  std::vector<pactrain::Slice<float>> parts_;
  std::vector<Shape> shapes_;
};

/// 64 bits that stand for the exact bits of all values.
std::uint64_t fingerprint(std::span<const float> values);

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "parameters.hpp"

#include <bit>

namespace demo {

Parameters::Parameters(const std::vector<Shape>& shapes) : shapes_(shapes) {
  std::size_t total = 0;
  for (const Shape& shape : shapes_) total += shape.rows * shape.columns;
  values_.resize(total);
  std::span<float> rest(values_);
  for (const Shape& shape : shapes_) {
    const std::size_t count = shape.rows * shape.columns;
    // Column after column: the rows of the slice are the columns of the matrix.
    parts_.push_back({shape.name, rest.first(count), shape.columns == 1 ? 0 : shape.columns});
    rest = rest.subspan(count);
  }
}

Parameters::Matrix Parameters::matrix(std::size_t part) const {
  return {parts_[part].values.data(), static_cast<Eigen::Index>(shapes_[part].rows),
          static_cast<Eigen::Index>(shapes_[part].columns)};
}

Parameters::Vector Parameters::vector(std::size_t part) const {
  return {parts_[part].values.data(), static_cast<Eigen::Index>(parts_[part].values.size())};
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

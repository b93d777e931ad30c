// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace demo {

/// Labelled pictures of 28 x 28 grey pixels, kept as the bytes they come in: a batch is turned
/// into floats when it is used, so that workers that are threads share one small copy.
class Dataset {
 public:
  static constexpr std::size_t pixels = 28 * 28;
  static constexpr std::size_t classes = 10;

  /// Takes the pictures one after the other, and a label below ten for each.
  /// Throws std::runtime_error where the sizes do not fit or a label is too large.
  Dataset(std::vector<std::uint8_t> images, std::vector<std::uint8_t> labels);

  std::size_t size() const { return labels_.size(); }
  std::span<const std::uint8_t, pixels> image(std::size_t index) const {
    return std::span<const std::uint8_t, pixels>(images_.data() + index * pixels, pixels);
  }
  std::uint8_t label(std::size_t index) const { return labels_[index]; }
  /// Writes pictures, one after the other, with the mean and the deviation of Fashion-MNIST taken
  /// out: `pixels` floats each.
  void load(std::span<const std::uint32_t> pictures, float* to) const;
  /// The same as columns of a matrix, which takes their size.
  template <class Matrix>
  void load(std::span<const std::uint32_t> pictures, Matrix& columns) const {
    using Index = decltype(columns.rows());
    columns.resize(static_cast<Index>(pixels), static_cast<Index>(pictures.size()));
    load(pictures, columns.data());
  }

 private:
  std::vector<std::uint8_t> images_;
  std::vector<std::uint8_t> labels_;
};

/// Fashion-MNIST: 60000 pictures to train on and 10000 to test with.
struct FashionMnist {
  Dataset train;
  Dataset test;
};

/// Where Debian's package dataset-fashion-mnist puts the files.
inline const std::filesystem::path default_data_directory = "/usr/share/datasets/fashion-mnist";

/// Reads the four gzipped IDX files of the directory.
/// Throws std::runtime_error that says what to do where a file is missing or damaged.
FashionMnist load_fashion_mnist(const std::filesystem::path& directory);

}  // namespace demo

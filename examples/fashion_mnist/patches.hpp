// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Eigen/Core>

#include <algorithm>

namespace demo {

/// What a convolution of 5 x 5 at every other pixel sees, zeros beyond the edge, so that it is a
/// product of matrices. Pictures are square and lie one after the other, a column for each pixel, a
/// row for each channel; patches have a column for each pixel that comes out.
struct Patches {
  static constexpr Eigen::Index width = 5, stride = 2, edge = 2;
  Eigen::Index channels, size;

  Eigen::Index rows() const { return width * width * channels; }
  Eigen::Index size_out() const { return size / stride; }

  /// Patches of pictures.
  template <class Pictures>
  void gather(const Pictures& pictures, Eigen::MatrixXf& patches) const {
    patches.setZero(rows(), pictures.cols() / (stride * stride));
    each(patches.cols(), [&](Eigen::Index row, Eigen::Index patch, Eigen::Index pixel) {
      patches.col(patch).segment(row, channels) = pictures.col(pixel);
    });
  }
  /// The adjoint: adds patches up where they came from.
  void scatter(const Eigen::MatrixXf& patches, Eigen::MatrixXf& pictures) const {
    pictures.setZero(channels, patches.cols() * stride * stride);
    each(patches.cols(), [&](Eigen::Index row, Eigen::Index patch, Eigen::Index pixel) {
      pictures.col(pixel) += patches.col(patch).segment(row, channels);
    });
  }

 private:
  template <class F>
  void each(Eigen::Index patches, F f) const {
    for (Eigen::Index patch = 0; patch < patches; ++patch) {
      const Eigen::Index picture = patch / (size_out() * size_out());
      const Eigen::Index top = patch / size_out() % size_out() * stride - edge;
      const Eigen::Index left = patch % size_out() * stride - edge;
      const Eigen::Index begin = std::max<Eigen::Index>(0, -left);
      const Eigen::Index end = std::min(width, size - left);
      for (Eigen::Index y = std::max<Eigen::Index>(0, -top); y < std::min(width, size - top); ++y)
        for (Eigen::Index x = begin; x < end; ++x)
          f((y * width + x) * channels, patch, (picture * size + top + y) * size + left + x);
    }
  }
};

}  // namespace demo

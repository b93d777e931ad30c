// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/tiles.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// The tiles of a model, for the host and for kernels: what representations share that store
/// something per `width` entries of a part.
template <std::size_t width, Executor E>
class TileTable {
 public:
  void lay_out(E& exec, const Model& model) {
    starts_.clear();
    kernel::PartStart next;
    for (const Part& part : model.parts()) {
      if (part.size == 0) continue;
      starts_.push_back(next);
      next.position += part.size;
      next.tile += (part.size - 1) / width + 1;
    }
    starts_.push_back(next);
    exec.write(std::span<const kernel::PartStart>(starts_),
               table_.template take<kernel::PartStart>(exec, starts_.size()));
  }

  [[nodiscard]] kernel::Tiles<width> on_host() const { return {starts_.data(), parts()}; }
  [[nodiscard]] kernel::Tiles<width> on_executor() const {
    return {table_.template view<kernel::PartStart>(starts_.size()).data(), parts()};
  }
  /// Parts that are not empty.
  [[nodiscard]] std::size_t parts() const noexcept { return starts_.size() - 1; }
  [[nodiscard]] std::size_t bytes() const noexcept {
    return table_.bytes() + starts_.capacity() * sizeof(kernel::PartStart);
  }

 private:
  std::vector<kernel::PartStart> starts_{kernel::PartStart{}};
  Scratch<E> table_;
};

}  // namespace pactrain

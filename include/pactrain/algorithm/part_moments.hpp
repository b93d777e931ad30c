// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/moments.hpp>
#include <pactrain/kernel/pack.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace pactrain {

/// Moments of magnitudes by part, summed in double and in an order that depends on the part's size
/// alone: the same bits for any executor and any cut into pieces.
template <Executor E>
class PartMoments {
 public:
  void begin(E& exec, const Model& model) {
    sizes_.clear();
    for (const Part& part : model.parts()) sizes_.push_back(part.size);
    begin(exec);
  }
  /// The same for the parts that these pieces cover.
  template <class T>
  void begin(E& exec, std::span<const Piece<T>> pieces) {
    sizes_.clear();
    for (const Piece<T>& piece : pieces) {
      if (sizes_.size() <= piece.part) sizes_.resize(piece.part + 1, 0);
      sizes_[piece.part] = std::max(sizes_[piece.part], piece.at + piece.size);
    }
    begin(exec);
  }
  /// Takes in a piece's magnitudes above `bar`. Pieces of a part come in order, and cover it.
  template <class T>
  void add(E& exec, const Piece<T>& piece, double bar, bool with_logs) {
    if (piece.size == 0) return;
    using V = std::remove_const_t<T>;
    const std::size_t from = piece.at / kernel::moment_unit;
    const std::size_t to = (piece.at + piece.size - 1) / kernel::moment_unit;
    auto* const lanes = lanes_.template view<kernel::MomentLanes>(0).data() + first_[piece.part];
    for_each_fast(exec, to - from + 1,
                  kernel::AddMoments<V>{piece.data, piece.at, piece.size, bar, with_logs, lanes});
  }
  /// Waits for what was taken in.
  void read(E& exec) {
    const auto folded = folded_.template view<kernel::Moments>(first_.back());
    exec.for_each(
        folded.size(),
        kernel::FoldMoments{lanes_.template view<kernel::MomentLanes>(0).data(), folded.data()});
    host_.resize(folded.size());
    exec.read(as_const_span(folded), std::span(host_));
  }
  /// Adds what was read of a part that has been taken in.
  void add_to(kernel::Moments& sums, std::size_t part) const {
    for (std::size_t unit = first_[part]; unit < first_[part + 1]; ++unit) {
      sums.sum += host_[unit].sum;
      sums.squares += host_[unit].squares;
      sums.logs += host_[unit].logs;
      sums.count += host_[unit].count;
    }
  }

 private:
  void begin(E& exec) {
    first_.assign(1, 0);
    for (const std::size_t size : sizes_) {
      const std::size_t units = (size + kernel::moment_unit - 1) / kernel::moment_unit;
      first_.push_back(first_.back() + units);
    }
    const auto lanes = lanes_.template take<kernel::MomentLanes>(exec, first_.back());
    exec.for_each(lanes.size(), kernel::Fill<kernel::MomentLanes>{lanes.data(), {}});
    static_cast<void>(folded_.template take<kernel::Moments>(exec, first_.back()));
  }

  std::vector<std::size_t> sizes_, first_;  ///< of each part; its first unit
  std::vector<kernel::Moments> host_;
  Scratch<E> lanes_, folded_;
};

}  // namespace pactrain

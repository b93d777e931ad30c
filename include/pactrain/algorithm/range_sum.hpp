// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/sparse_stream.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/indices.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kernel/streams.hpp>

#include <cstddef>
#include <span>
#include <utility>

namespace pactrain {

/// A sum of streams over one range, added one by one: items at ascending positions, until the next
/// stream might make it so large that all values are shorter (`goes_dense`), then all values.
/// Either way it is the dense sum from zero, bit for bit. An item stays where its sum becomes zero.
template <GradientValue A, Executor E>
class RangeSum {
 public:
  /// Empty, over a range of so many positions.
  void begin(std::size_t range) {
    range_ = range;
    items_ = 0;
    dense_ = false;
  }
  /// Precondition: the stream is of this range, in order, and follows its `bytes()`. May wait.
  template <GradientValue W>
  void add(E& exec, const SparseStream<W>& stream) {
    const std::size_t together = items_ + (stream.dense ? range_ : stream.items);
    if (goes_dense(together, range_, width(), sizeof(W))) make_dense(exec);
    const W* const from = stream.values().data();
    A* const sums = values_.template view<A>(0).data();
    if (!dense_) {
      merge(exec, stream);
    } else if (stream.dense) {
      exec.for_each(range_, kernel::AddTo<W, A>{from, sums});
    } else {
      exec.for_each(stream.items, kernel::AddItems<W, A>{stream.positions(), from, sums});
    }
  }

  /// Keeps all values from now on.
  void make_dense(E& exec) {
    if (dense_) return;
    const auto all = next_values_.template take<A>(exec, range_);
    exec.for_each(range_, kernel::Fill<A>{all.data(), A{}});
    if (items_ > 0) {
      exec.for_each(items_, kernel::PlaceItems<A, A>{positions(), values().data(), all.data()});
    }
    std::swap(values_, next_values_);
    dense_ = true;
  }

  [[nodiscard]] bool dense() const noexcept { return dense_; }
  /// How many values there are: one per item, or all.
  [[nodiscard]] std::size_t size() const noexcept { return dense_ ? range_ : items_; }
  [[nodiscard]] std::span<A> values() const { return values_.template view<A>(size()); }
  /// Where the values stand. Precondition: not dense.
  [[nodiscard]] kernel::Indices positions() const {
    return {positions_.template view<std::byte>(0).data(), items_, width()};
  }

 private:
  [[nodiscard]] std::size_t width() const { return kernel::index_width(range_); }

  template <GradientValue W>
  void merge(E& exec, const SparseStream<W>& stream) {
    if (stream.items == 0) return;
    const auto before = before_.template take<std::size_t>(exec, stream.items + 1);
    const auto total = before.subspan(stream.items);
    exec.scan(stream.items, kernel::CountFresh{positions(), stream.positions()},
              before.first(stream.items), std::span<std::size_t, 1>(total.data(), 1));
    std::size_t fresh = 0;
    exec.read(as_const_span(total), std::span(&fresh, 1));

    const kernel::Merge merge{positions(), stream.positions(), before.data(), fresh};
    const std::size_t united = items_ + fresh;
    const kernel::Indices positions{
        next_positions_.template take<std::byte>(exec, united * width()).data(), united, width()};
    A* const sums = next_values_.template take<A>(exec, united).data();
    exec.for_each(items_, kernel::MoveSums<A>{merge, values().data(), positions, sums});
    exec.for_each(stream.items,
                  kernel::MergeItems<W, A>{merge, stream.values().data(), positions, sums});
    std::swap(positions_, next_positions_);
    std::swap(values_, next_values_);
    items_ = united;
  }

  std::size_t range_ = 0, items_ = 0;
  bool dense_ = false;
  Scratch<E> positions_, values_, next_positions_, next_values_, before_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/kept_list.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/hashed.hpp>
#include <pactrain/kernel/indices.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// The positions of a vector by their owner, who is drawn by a hash: all of rank 0 by position, all
/// of rank 1, and so on. All ranks know it without a word. As `RangeOrder`.
template <Executor E>
class HashedOrder {
 public:
  /// Made on the host, where `n` or the number of ranks is another than before. Waits then.
  void lay_out(E& exec, std::size_t n, std::size_t ranks) {
    if (cuts_.size() == ranks + 1 && cuts_.back() == n) return;
    cuts_.assign(ranks + 1, 0);
    for (std::size_t i = 0; i < n; ++i) ++cuts_[kernel::hashed_owner(i, ranks) + 1];
    for (std::size_t r = 0; r < ranks; ++r) cuts_[r + 1] += cuts_[r];
    const std::size_t width = kernel::index_width(n);
    std::vector<std::byte> host(n * width);
    const kernel::Indices order{host.data(), n, width};
    std::vector<std::size_t> next(cuts_.begin(), cuts_.end() - 1);
    for (std::size_t i = 0; i < n; ++i) order.put(next[kernel::hashed_owner(i, ranks)]++, i);
    exec.write(std::span<const std::byte>(host),
               order_.template take<std::byte>(exec, host.size()));
  }
  /// Rank r owns places [cuts[r], cuts[r + 1]).
  [[nodiscard]] std::span<const std::size_t> cuts() const noexcept { return cuts_; }
  /// The position at every place.
  [[nodiscard]] kernel::Indices order() const {
    const std::size_t n = cuts_.back();
    return {order_.template view<std::byte>(0).data(), n, kernel::index_width(n)};
  }
  template <class MaskOn>
  [[nodiscard]] kernel::Indices places(E& exec, const MaskOn& mask) {
    const auto keep = mask.keep();
    chosen_.fill(exec, cuts_.back(), kernel::InOrder<decltype(mask.keep())>{keep, order()});
    return chosen_.indices();
  }
  template <class S>
  [[nodiscard]] const S* values(E& exec, std::span<const S> packed) {
    const auto ordered = ordered_.template take<S>(exec, packed.size());
    exec.for_each(packed.size(), kernel::Reorder<S>{packed.data(), order(), ordered.data()});
    return ordered.data();
  }
  template <class T>
  [[nodiscard]] kernel::PlaceInOrder<T> back(const T* values, std::size_t owner, T* out) const {
    return {values, order(), cuts_[owner], out};
  }

 private:
  std::vector<std::size_t> cuts_;
  KeptList<E> chosen_;
  Scratch<E> order_, ordered_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/indices.hpp>

#include <cstddef>
#include <span>

namespace pactrain {

/// The numbers below `n` that a predicate keeps, as ascending indices.
template <Executor E>
class KeptList {
 public:
  /// `keep` is asked twice. Waits.
  template <class Keep>
  void fill(E& exec, std::size_t n, Keep keep) {
    const std::size_t chunks = kernel::chunks_for(n);
    const auto before = before_.template take<std::size_t>(exec, chunks + 1);
    const auto total = before.subspan(chunks);
    exec.scan(chunks, kernel::CountChunk<Keep>{keep, n}, before.first(chunks),
              std::span<std::size_t, 1>(total.data(), 1));
    exec.read(as_const_span(total), std::span(&count_, 1));
    width_ = kernel::index_width(n);
    (void)indices_.template take<std::byte>(exec, count_ * width_);
    exec.for_each(chunks,
                  kernel::FillChunk<Keep>{keep, 0, n, before.data(), {indices().data, 0, width_}});
  }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] kernel::Indices indices() const {
    return {indices_.template view<std::byte>(0).data(), count_, width_};
  }

 private:
  std::size_t count_ = 0, width_ = 2;
  Scratch<E> before_, indices_;
};

}  // namespace pactrain

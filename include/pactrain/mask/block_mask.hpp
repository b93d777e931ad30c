// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/fingerprint.hpp>
#include <pactrain/algorithm/kept_set.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/blocks.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/tile_table.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// One bit per block of B consecutive entries of a part: n/(8 B) bytes and a little per part.
///
/// Blocks start at their part's start and do not cross parts; the last block of a part may be
/// short. A block is kept, all of it, if any of its entries is to be kept, so the set may be larger
/// than what was asked for; `count` counts entries. For sparsity that whole rows, channels or cache
/// lines share: `BlockMagnitude<B>` keeps such sets exactly.
template <std::size_t B>
struct BlockMask {
  static_assert(B > 0, "pactrain: a block needs at least one entry");

  template <Executor E>
  class on {
   public:
    void begin(E& exec, const Model& model) {
      layout_ = model.fingerprint();
      table_.lay_out(exec, model);
      bits_.begin(exec, table_.on_host().size());
      count_ = 0;
    }
    template <class T, class Keep>
    void assign(E& exec, Piece<T> piece, Keep keep) {
      if (piece.size == 0) return;
      const auto tiles = table_.on_host();
      const std::size_t part = tiles.part_of(piece.first);
      const std::size_t block = tiles.tile_of(part, piece.first);
      const std::size_t end = tiles.tile_of(part, piece.first + piece.size - 1) + 1;
      bits_.assign(
          exec, Piece<const T>{part, 0, block, end - block},
          kernel::KeepBlock<B, Keep>{keep, this->keep(), part, block, piece.first, piece.size});
    }
    void end(E& exec) {
      bits_.end(exec);
      count_entries(exec);
    }

    template <class F>
    void visit(E& exec, std::size_t first, std::size_t last, F f) const {
      if (first >= last) return;
      const std::size_t block = table_.on_host().tile_of(first);
      const std::size_t end = table_.on_host().tile_of(last - 1) + 1;
      exec.for_each((end - block - 1) / kernel::blocks_a_call<B> + 1,
                    kernel::VisitBlocks<B, F>{f, keep(), first, last, block, end});
    }
    [[nodiscard]] kernel::Blocks<B> keep() const {
      return {bits_.bits(), table_.on_executor(), slots().data()};
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] std::size_t slot(E& exec, std::size_t position) const {
      if (position >= table_.on_host().entries()) return count_;
      return slot_of(exec, scalar_, keep(), position);
    }
    template <class T>
    void clear(E& exec, std::size_t first, std::span<T> values) const {
      clear_unkept(exec, keep(), first, values);
    }
    [[nodiscard]] std::uint64_t fingerprint(E& exec, std::size_t first, std::size_t last) const {
      return fingerprint_of(exec, scalar_, first, last, keep());
    }

    template <class C>
    void unite(E& exec, C& comm) {
      bits_.unite(exec, comm);
      count_entries(exec);
    }
    template <class C>
    void broadcast(E& exec, C& comm, int root) {
      bits_.broadcast(exec, comm, root);
      count_entries(exec);
    }

    /// One bit per block.
    [[nodiscard]] std::span<const std::byte> positions() const { return bits_.positions(); }
    void receive(E& exec, const Model& model, std::span<const std::byte> positions) {
      table_.lay_out(exec, model);
      layout_ = model.fingerprint();
      bits_.receive(exec, table_.on_host().size(), positions);
      count_entries(exec);
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
      return bits_.bytes() + table_.bytes() + slots_.bytes() + scalar_.bytes();
    }
    void save(E& exec, Writer& writer) const {
      writer.value(B);
      writer.value(layout_);
      bits_.save(exec, writer);
    }
    void load(E& exec, const Model& model, Reader& reader) {
      reader.expect(B, "block size");
      reader.expect(model.fingerprint(), "model layout");
      begin(exec, model);
      bits_.load(exec, table_.on_host().size(), reader);
      count_entries(exec);
    }

   private:
    [[nodiscard]] std::span<std::size_t> slots() const {
      return slots_.template view<std::size_t>(table_.parts() + 1);
    }
    void count_entries(E& exec) {
      const std::size_t parts = table_.parts();
      const auto slots = slots_.template take<std::size_t>(exec, parts + 1);
      exec.scan(parts, kernel::CountBlocks<B>{bits_.bits(), table_.on_executor()},
                slots.first(parts), std::span<std::size_t, 1>(slots.data() + parts, 1));
      exec.read(as_const_span(slots.subspan(parts)), std::span(&count_, 1));
    }

    std::uint64_t layout_ = 0;
    std::size_t count_ = 0;
    TileTable<B, E> table_;
    BitMask::on<E> bits_;
    Scratch<E> slots_;
    mutable Scratch<E> scalar_;
  };
};

}  // namespace pactrain

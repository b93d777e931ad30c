// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/fingerprint.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/everything.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace pactrain {

/// Keeps every entry and stores nothing: the mask of a dense all-reduce.
///
/// `end` throws `PreconditionError` if an entry is dropped, or if only the first pieces were
/// assigned; a mask to which nothing was assigned passes, and is to be united. A union is
/// everything if it is everything on some rank; `unite` throws the same error on every rank
/// otherwise, and so does `broadcast` where the root does not keep everything.
struct FullMask {
  template <Executor E>
  class on {
   public:
    void begin(E& exec, const Model& model) {
      model_ = model;
      restart(exec);
    }
    template <class T, class Keep>
    void assign(E& exec, Piece<T> piece, Keep keep) {
      expects(piece.first == covered_,
              "FullMask takes the pieces of a model in order and without gaps; sort them");
      if (piece.size == 0) return;
      const auto dropped = dropped_.template view<std::size_t>(2);
      exec.reduce(piece.size, nothing,
                  kernel::FirstDropped<Keep>{keep, piece.first, dropped.data() + turn_},
                  kernel::Smallest{}, std::span<std::size_t, 1>(dropped.data() + 1 - turn_, 1));
      turn_ = 1 - turn_;
      covered_ += piece.size;
    }
    void end(E& exec) {
      if (covered_ > 0) refuse(first_dropped(exec));
    }

    template <class F>
    void visit(E& exec, std::size_t first, std::size_t last, F f) const {
      if (first < last) exec.for_each(last - first, kernel::VisitAll<F>{f, first});
    }
    [[nodiscard]] kernel::Everything keep() const { return {model_.size()}; }
    [[nodiscard]] std::size_t count() const noexcept { return model_.size(); }
    [[nodiscard]] std::size_t slot(E&, std::size_t position) const {
      return kernel::Smallest{}(position, model_.size());
    }
    template <class T>
    void clear(E&, std::size_t, std::span<T>) const {}
    [[nodiscard]] std::uint64_t fingerprint(E& exec, std::size_t first, std::size_t last) const {
      return fingerprint_of(exec, scalar_, first, last, keep());
    }

    template <class C>
    void unite(E& exec, C& comm) {
      const std::size_t mine = first_dropped(exec);
      const std::uint64_t full = mine == nothing ? 1 : 0;
      std::uint64_t state[2] = {full, ~static_cast<std::uint64_t>(mine)};
      agree(exec, state, [&](auto x) { all_reduce(exec, comm, x, Max{}); });
      accept(exec, state[0] != 0 ? nothing : static_cast<std::size_t>(~state[1]));
    }
    template <class C>
    void broadcast(E& exec, C& comm, int root) {
      const std::size_t mine = comm.rank() == root ? first_dropped(exec) : nothing;
      std::uint64_t state[2] = {0, static_cast<std::uint64_t>(mine)};
      agree(exec, state, [&](auto x) { pactrain::broadcast(exec, comm, x, root); });
      accept(exec, static_cast<std::size_t>(state[1]));
    }

    [[nodiscard]] std::size_t bytes() const noexcept { return dropped_.bytes() + scalar_.bytes(); }
    void save(E&, Writer& writer) const { writer.value(model_.size()); }
    void load(E& exec, const Model& model, Reader& reader) {
      reader.expect(model.size(), "number of entries");
      begin(exec, model);
      accept(exec, nothing);
    }

   private:
    static constexpr std::size_t nothing = ~std::size_t{0};

    [[nodiscard]] std::size_t first_dropped(E& exec) const {
      std::size_t dropped = 0;
      exec.read(as_const_span(dropped_.template view<std::size_t>(2).subspan(turn_, 1)),
                std::span(&dropped, 1));
      return dropped == nothing && covered_ < model_.size() ? covered_ : dropped;
    }
    template <class Exchange>
    void agree(E& exec, std::span<std::uint64_t> state, Exchange exchange) {
      const auto shared = scalar_.template take<std::uint64_t>(exec, state.size());
      exec.write(std::span<const std::uint64_t>(state), shared);
      exchange(shared);
      exec.read(as_const_span(shared), state);
    }
    void restart(E& exec) {
      covered_ = turn_ = 0;
      const auto dropped = dropped_.template take<std::size_t>(exec, 2);
      exec.for_each(2, kernel::Fill<std::size_t>{dropped.data(), nothing});
    }
    void accept(E& exec, std::size_t dropped) {
      refuse(dropped);
      restart(exec);
      covered_ = model_.size();
    }
    void refuse(std::size_t dropped) const {
      expects(dropped == nothing, [&] {
        return model_.describe(dropped) +
               " is not kept, and FullMask keeps everything; use the policy KeepAll, or a BitMask";
      });
    }

    Model model_;
    std::size_t covered_ = 0, turn_ = 0;
    Scratch<E> dropped_;
    mutable Scratch<E> scalar_;
  };
};

}  // namespace pactrain

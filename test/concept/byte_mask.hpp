// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/fingerprint.hpp>
#include <pactrain/algorithm/kept_set.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/pack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// The smallest complete mask: the example of docs/concepts/mask.md.
namespace example {

using pactrain::Executor, pactrain::Model, pactrain::Piece, pactrain::Scratch;

/// The set as kernels see it: pointers into the executor's memory, copied freely.
struct Bytes {
  std::int8_t* kept;
  std::size_t* before;
  PACTRAIN_FN bool operator()(std::size_t position) const { return kept[position] != 0; }
  PACTRAIN_FN std::size_t slot(std::size_t position) const { return before[position]; }
};

struct CountByte {
  const std::int8_t* kept;
  PACTRAIN_FN std::size_t operator()(std::size_t i) const { return kept[i] != 0 ? 1 : 0; }
};

template <class Keep>
struct AssignByte {
  Keep keep;
  std::int8_t* kept;
  PACTRAIN_FN void operator()(std::size_t i) const { kept[i] = keep(i) ? 1 : 0; }
};

template <class F>
struct VisitByte {
  F f;
  Bytes set;
  std::size_t first;
  PACTRAIN_FN void operator()(std::size_t i) const {
    if (set(first + i)) f(set.slot(first + i), first + i);
  }
};

/// One byte per entry.
struct ByteMask {
  template <Executor E>
  class on {
   public:
    void begin(E& exec, const Model& model) {
      n_ = model.size();
      kept_.template take<std::int8_t>(exec, n_);
      before_.template take<std::size_t>(exec, n_ + 1);
      exec.for_each(n_, pactrain::kernel::Fill<std::int8_t>{kept().data(), 0});
    }
    template <class T, class Keep>
    void assign(E& exec, Piece<T> piece, Keep keep) {
      exec.for_each(piece.size, AssignByte<Keep>{keep, kept().data() + piece.first});
    }
    void end(E& exec) {
      const auto before = before_.template view<std::size_t>(n_ + 1);
      exec.scan(n_, CountByte{kept().data()}, before.first(n_),
                std::span<std::size_t, 1>(before.data() + n_, 1));
      exec.read(pactrain::as_const_span(before.subspan(n_)), std::span(&count_, 1));
    }

    template <class F>
    void visit(E& exec, std::size_t first, std::size_t last, F f) const {
      exec.for_each(last - first, VisitByte<F>{f, keep(), first});
    }
    [[nodiscard]] Bytes keep() const {
      return {kept().data(), before_.template view<std::size_t>(n_ + 1).data()};
    }
    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] std::size_t slot(E& exec, std::size_t position) const {
      return pactrain::slot_of(exec, scalar_, keep(), position);
    }
    template <class T>
    void clear(E& exec, std::size_t first, std::span<T> values) const {
      pactrain::clear_unkept(exec, keep(), first, values);
    }
    [[nodiscard]] std::uint64_t fingerprint(E& exec, std::size_t first, std::size_t last) const {
      return pactrain::fingerprint_of(exec, scalar_, first, last, keep());
    }

    template <class C>
    void unite(E& exec, C& comm) {
      pactrain::all_reduce(exec, comm, kept(), pactrain::Max{});
      end(exec);
    }
    template <class C>
    void broadcast(E& exec, C& comm, int root) {
      pactrain::broadcast(exec, comm, kept(), root);
      end(exec);
    }

    [[nodiscard]] std::size_t bytes() const {
      return kept_.bytes() + before_.bytes() + scalar_.bytes();
    }
    void save(E& exec, pactrain::Writer& writer) const {
      std::vector<std::int8_t> kept(n_);
      exec.read(pactrain::as_const_span(this->kept()), std::span(kept));
      writer.array(std::span<const std::int8_t>(kept));
    }
    void load(E& exec, const Model& model, pactrain::Reader& reader) {
      const auto kept = reader.array<std::int8_t>(model.size(), "a byte mask");
      if (std::any_of(kept.begin(), kept.end(), [](auto x) { return x != 0 && x != 1; })) {
        throw pactrain::StateError("the saved byte mask is damaged; load another");
      }
      begin(exec, model);
      exec.write(std::span<const std::int8_t>(kept), this->kept());
      end(exec);
    }

   private:
    [[nodiscard]] std::span<std::int8_t> kept() const {
      return kept_.template view<std::int8_t>(n_);
    }

    std::size_t n_ = 0, count_ = 0;
    Scratch<E> kept_, before_;
    mutable Scratch<E> scalar_;
  };
};

}  // namespace example

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/fingerprint.hpp>
#include <pactrain/algorithm/kept_set.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/assign_groups.hpp>
#include <pactrain/kernel/groups.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/mask/tile_table.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// Exactly N kept entries in every M consecutive ones of a part (2:4 is what sparse tensor cores
/// multiply). The last group of a part may be short and keeps all where it has fewer than N.
///
/// A group takes the shorter of M bits and N places of log2(M) bits: n/8 bytes for 2:4, n/16 for
/// 1:4, n/32 for 1:16. Slots follow from the structure, so there is no directory. Pieces are to be
/// assigned in order and without gaps. `end`, `unite` and `broadcast` throw `PreconditionError`
/// where a group keeps another number; the latter two throw it on every rank. A mask to which
/// nothing was assigned passes `end`, contributes nothing to a union, and is not to be visited.
template <std::size_t N, std::size_t M>
struct NofMMask {
  static_assert(0 < N && N <= M && 1 < M && M <= 64,
                "pactrain: NofMMask<N, M> keeps 1 to M of M entries, M from 2 to 64; BitMask holds "
                "any set");

  template <Executor E>
  class on {
   public:
    void begin(E& exec, const Model& model) {
      model_ = model;
      table_.lay_out(exec, model);
      lay_out_slots(exec);
      accept(exec);
      covered_ = 0;
      const auto codes = codes_.template take<kernel::Word>(exec, words() + 1);
      exec.for_each(codes.size(), kernel::Fill<kernel::Word>{codes.data(), 0});
      carry_.template take<kernel::Word>(exec, 2);
    }
    template <class T, class Keep>
    void assign(E& exec, Piece<T> piece, Keep keep);
    void end(E& exec) {
      const std::size_t wrong = found(exec);
      if (wrong != kernel::WrongGroup::unassigned) refuse(wrong);
    }

    template <class F>
    void visit(E& exec, std::size_t first, std::size_t last, F f) const {
      if (first >= last) return;
      const std::size_t group = table_.on_host().tile_of(first);
      const std::size_t end = table_.on_host().tile_of(last - 1) + 1;
      exec.for_each((end - 1) / Code::per_word - group / Code::per_word + 1,
                    kernel::VisitGroups<N, M, F>{f, keep(), first, last, group, end});
    }
    [[nodiscard]] kernel::Groups<N, M> keep() const {
      return {codes().data(), table_.on_executor(),
              slots_.template view<std::size_t>(table_.parts()).data()};
    }
    [[nodiscard]] std::size_t count() const noexcept { return covered_ == 0 ? 0 : count_; }
    [[nodiscard]] std::size_t slot(E& exec, std::size_t position) const {
      return position < model_.size() ? slot_of(exec, scalar_, keep(), position) : count_;
    }
    template <class T>
    void clear(E& exec, std::size_t first, std::span<T> values) const {
      clear_unkept(exec, keep(), first, values);
    }
    [[nodiscard]] std::uint64_t fingerprint(E& exec, std::size_t first, std::size_t last) const {
      return fingerprint_of(exec, scalar_, first, last, keep());
    }

    template <class C>
    void unite(E& exec, C& comm);
    template <class C>
    void broadcast(E& exec, C& comm, int root) {
      if (comm.rank() == root) put_last(exec, found(exec));
      pactrain::broadcast(exec, comm, codes(), root);
      kernel::Word wrong = 0;
      exec.read(as_const_span(codes().subspan(words())), std::span(&wrong, 1));
      refuse(static_cast<std::size_t>(wrong));
      accept(exec);
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
      return codes_.bytes() + table_.bytes() + slots_.bytes() + carry_.bytes() + wrong_.bytes() +
             gathered_.bytes() + scalar_.bytes() + host_slots_.capacity() * sizeof(std::size_t);
    }
    void save(E& exec, Writer& writer) const {
      std::vector<kernel::Word> words(this->words());
      exec.read(as_const_span(codes().first(words.size())), std::span(words));
      writer.value(N);
      writer.value(M);
      writer.value(model_.fingerprint());
      writer.array(std::span<const kernel::Word>(words));
    }
    void load(E& exec, const Model& model, Reader& reader);

   private:
    using Code = kernel::GroupCode<N, M>;

    [[nodiscard]] std::size_t words() const {
      return kernel::Groups<N, M>::words_for(table_.on_host().size());
    }
    /// The words of all groups, and one more that tells other ranks what is wrong with them.
    [[nodiscard]] std::span<kernel::Word> codes() const {
      return codes_.template view<kernel::Word>(words() + 1);
    }
    void put_last(E& exec, kernel::Word wrong) {
      exec.write(std::span<const kernel::Word>(&wrong, 1), codes().subspan(words()));
    }
    /// What is stored is sound, wherever it came from.
    void accept(E& exec) {
      covered_ = model_.size();
      turn_ = 0;
      const auto wrong = wrong_.template take<std::size_t>(exec, 2);
      exec.for_each(2, kernel::Fill<std::size_t>{wrong.data(), kernel::WrongGroup::none});
    }
    void lay_out_slots(E& exec);
    [[nodiscard]] std::size_t found(E& exec) const;
    void refuse(std::size_t wrong) const;

    Model model_;
    std::size_t count_ = 0, covered_ = 0, turn_ = 0;
    TileTable<M, E> table_;
    std::vector<std::size_t> host_slots_;
    Scratch<E> codes_, slots_, carry_, wrong_, gathered_;
    mutable Scratch<E> scalar_;
  };
};

template <std::size_t N, std::size_t M>
template <Executor E>
template <class T, class Keep>
void NofMMask<N, M>::on<E>::assign(E& exec, Piece<T> piece, Keep keep) {
  expects(piece.first == covered_,
          "NofMMask takes the pieces of a model in order and without gaps; sort them by position");
  if (piece.size == 0) return;
  const auto tiles = table_.on_host();
  const std::size_t part = tiles.part_of(piece.first);
  const std::size_t group = tiles.tile_of(part, piece.first);
  const std::size_t end = tiles.tile_of(part, piece.first + piece.size - 1) + 1;
  const auto carry = carry_.template view<kernel::Word>(2);
  const auto wrong = wrong_.template view<std::size_t>(2);
  // What one call writes no other may read: the pairs are read at `turn_` and written at the other.
  const kernel::GroupedKeep<M, Keep> kept{
      keep, table_.on_executor(), part, group, piece.first, piece.size, carry.data() + turn_};
  exec.reduce(end - group, kernel::WrongGroup::none,
              kernel::WrongKeep<N, M, Keep>{kept, this->keep(), wrong.data() + turn_},
              kernel::Smallest{}, std::span<std::size_t, 1>(wrong.data() + 1 - turn_, 1));
  exec.for_each(
      (end - 1) / Code::per_word - group / Code::per_word + 1,
      kernel::AssignGroups<N, M, Keep>{kept, end, codes().data(), carry.data() + 1 - turn_});
  turn_ = 1 - turn_;
  covered_ += piece.size;
}

template <std::size_t N, std::size_t M>
template <Executor E>
template <class C>
void NofMMask<N, M>::on<E>::unite(E& exec, C& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t groups = table_.on_host().size();
  put_last(exec, found(exec));
  const auto all = gathered_.template take<kernel::Word>(exec, codes().size() * ranks);
  all_gather(exec, comm, as_const_span(codes()), all);
  const kernel::UnitedGroups<N, M> united{all.data(), codes().size(), ranks};
  const auto wrong = wrong_.template view<std::size_t>(1);
  exec.reduce(groups, kernel::WrongGroup::none, kernel::WrongUnion<N, M>{united, keep()},
              kernel::Smallest{}, std::span<std::size_t, 1>(wrong.data(), 1));
  exec.for_each(words(), kernel::EncodeUnion<N, M>{united, groups, codes().data()});
  turn_ = 0;
  covered_ = model_.size();
  refuse(found(exec));
}

template <std::size_t N, std::size_t M>
template <Executor E>
void NofMMask<N, M>::on<E>::load(E& exec, const Model& model, Reader& reader) {
  reader.expect(N, "number of kept entries a group");
  reader.expect(M, "group size");
  reader.expect(model.fingerprint(), "model layout");
  TileTable<M, E> table;
  table.lay_out(exec, model);
  const kernel::Tiles<M> tiles = table.on_host();
  const auto codes =
      reader.array<kernel::Word>(kernel::Groups<N, M>::words_for(tiles.size()), "an N:M mask");
  const kernel::Groups<N, M> groups{codes.data(), tiles, nullptr};
  std::vector<kernel::Word> sound(codes.size());
  for (std::size_t part = 0; part < tiles.count; ++part) {
    for (std::size_t at = tiles.parts[part].tile; at < tiles.parts[part + 1].tile; ++at) {
      const kernel::Word set = groups.group(at);
      const std::size_t size = tiles.end(part, at) - tiles.begin(part, at);
      if (kernel::popcount(set) != groups.due(part, at) || (set & ~kernel::between(0, 0, size))) {
        throw StateError("pactrain: the saved N:M mask is damaged (a group of '" +
                         model.parts()[model.part_at(tiles.begin(part, at))].name +
                         "' keeps a wrong number of entries); load another");
      }
      sound[at / Code::per_word] |= Code::encode(set) << at % Code::per_word * Code::bits;
    }
  }
  if (sound != codes) {
    throw StateError("pactrain: the saved N:M mask is damaged (unused bits are set); load another");
  }
  begin(exec, model);
  exec.write(std::span<const kernel::Word>(codes), this->codes().first(codes.size()));
  covered_ = model.size();
}

template <std::size_t N, std::size_t M>
template <Executor E>
void NofMMask<N, M>::on<E>::lay_out_slots(E& exec) {
  const kernel::Tiles<M> tiles = table_.on_host();
  host_slots_.clear();
  count_ = 0;
  for (std::size_t part = 0; part < tiles.count; ++part) {
    host_slots_.push_back(count_);
    const std::size_t size = tiles.parts[part + 1].position - tiles.parts[part].position;
    count_ += size / M * N + kernel::Smallest{}(N, size % M);
  }
  exec.write(std::span<const std::size_t>(host_slots_),
             slots_.template take<std::size_t>(exec, host_slots_.size()));
}

template <std::size_t N, std::size_t M>
template <Executor E>
std::size_t NofMMask<N, M>::on<E>::found(E& exec) const {
  if (covered_ == 0 && model_.size() > 0) return kernel::WrongGroup::unassigned;
  expects(covered_ == model_.size(),
          "NofMMask was not told of the last entries of the model; assign all of its pieces");
  std::size_t wrong = 0;
  exec.read(as_const_span(wrong_.template view<std::size_t>(2).subspan(turn_, 1)),
            std::span(&wrong, 1));
  return wrong;
}

/// Throws unless `wrong` is none.
template <std::size_t N, std::size_t M>
template <Executor E>
void NofMMask<N, M>::on<E>::refuse(std::size_t wrong) const {
  if (wrong == kernel::WrongGroup::none) return;
  const bool unassigned = wrong == kernel::WrongGroup::unassigned;
  const kernel::Tiles<M> tiles = table_.on_host();
  const std::size_t group = unassigned ? 0 : kernel::WrongGroup::group(wrong);
  const std::size_t kept = unassigned ? 0 : kernel::WrongGroup::kept(wrong);
  const std::size_t part = tiles.part_with(group);
  const kernel::Groups<N, M> groups{nullptr, tiles, nullptr};
  throw PreconditionError("pactrain: group " + std::to_string(group - tiles.parts[part].tile) +
                          " of '" + model_.parts()[model_.part_at(tiles.begin(part, group))].name +
                          "' (" + std::to_string(M) + " entries each) keeps " +
                          std::to_string(kept) + " entries where NofMMask<" + std::to_string(N) +
                          ", " + std::to_string(M) + "> holds " +
                          std::to_string(groups.due(part, group)) + "; use the policy NofM<" +
                          std::to_string(N) + ", " + std::to_string(M) + ">, or a BitMask");
}

}  // namespace pactrain

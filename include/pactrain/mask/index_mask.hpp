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
#include <pactrain/kernel/indices.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/mask/mask.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace pactrain {

/// The kept positions themselves, ascending, as integers of 2, 4 or 8 bytes: as narrow as the
/// model's size allows. For sets so sparse that n bits would be more: below about 3 % with 4 bytes.
///
/// Nothing is written twice and no atomics are used: a piece is counted by chunks, the counts are
/// summed up, the positions are filled in; so `assign` waits and asks `keep` twice. Pieces are to
/// be assigned in order. `keep` and `slot` take a binary search; visits take one for some hundred
/// entries.
struct IndexMask {
  template <Executor E>
  class on {
   public:
    void begin(E&, const Model& model) {
      n_ = model.size();
      count_ = covered_ = 0;
    }
    template <class T, class Keep>
    void assign(E& exec, Piece<T> piece, Keep keep) {
      expects(piece.first >= covered_,
              "IndexMask takes the pieces of a model in order; sort them by position");
      covered_ = piece.first + piece.size;
      const std::size_t kept =
          count_by_chunks(exec, piece.size, kernel::CountChunk<Keep>{keep, piece.size});
      if (kept == 0) return;
      reserve(exec, count_, count_ + kept);
      exec.for_each(
          kernel::chunks_for(piece.size),
          kernel::FillChunk<Keep>{keep, piece.first, piece.size,
                                  before_.template view<std::size_t>(0).data(), indices()});
      count_ += kept;
    }
    void end(E& exec) { exec.fence(); }

    template <class F>
    void visit(E& exec, std::size_t first, std::size_t last, F f) const {
      if (first >= last || count_ == 0) return;
      // About eight indices a run, so that sparse sets do not pay for a search per index.
      const std::size_t stride = std::max(kernel::group_bits, n_ / count_ * 8);
      exec.for_each((last - first - 1) / stride + 1,
                    kernel::VisitIndices<F>{f, indices(), first, last, stride});
    }
    [[nodiscard]] kernel::Indices keep() const { return indices(); }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] std::size_t slot(E& exec, std::size_t position) const {
      return slot_of(exec, scalar_, indices(), position);
    }
    template <class T>
    void clear(E& exec, std::size_t first, std::span<T> values) const {
      using Clear = kernel::ClearAt<T>;
      exec.for_each(kernel::chunks_for(values.size()),
                    kernel::VisitGaps<Clear>{Clear{values.data(), first}, indices(), first,
                                             first + values.size()});
    }
    [[nodiscard]] std::uint64_t fingerprint(E& exec, std::size_t first, std::size_t last) const {
      return fingerprint_of(exec, scalar_, first, last, indices());
    }

    template <class C>
    void unite(E& exec, C& comm);
    template <class C>
    void broadcast(E& exec, C& comm, int root) {
      const auto count = scalar_.template take<std::size_t>(exec, 1);
      exec.write(std::span<const std::size_t>(&count_, 1), count);
      pactrain::broadcast(exec, comm, count, root);
      exec.read(as_const_span(count), std::span(&count_, 1));
      expects_positions(count_ <= n_);
      reserve(exec, comm.rank() == root ? count_ : 0, count_);
      pactrain::broadcast(exec, comm, raw(), root);
      const kernel::Indices received = indices();
      expects_ascending(exec, std::span(&received, 1));
      covered_ = n_;
    }

    /// The stored positions, as they travel to ranks that keep others.
    [[nodiscard]] std::span<const std::byte> positions() const { return raw(); }
    void receive(E& exec, const Model& model, std::span<const std::byte> positions) {
      begin(exec, model);
      expects_positions(positions.size() % width() == 0 && positions.size() / width() <= n_);
      reserve(exec, 0, positions.size() / width());
      count_ = positions.size() / width();
      exec.copy(positions, raw());
      const kernel::Indices received = indices();
      expects_ascending(exec, std::span(&received, 1));
      covered_ = n_;
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
      return positions_.bytes() + before_.bytes() + gathered_.bytes() + scalar_.bytes();
    }
    void save(E& exec, Writer& writer) const {
      writer.value(n_);
      writer.value(count_);
      with_type([&]<class I>(I) {
        std::vector<I> positions(count_);
        exec.read(as_const_span(positions_.template view<I>(count_)), std::span(positions));
        writer.array(std::span<const I>(positions));
      });
    }
    void load(E& exec, const Model& model, Reader& reader);

   private:
    [[nodiscard]] std::size_t width() const { return kernel::index_width(n_); }
    [[nodiscard]] std::span<std::byte> raw() const {
      return positions_.template view<std::byte>(count_ * width());
    }
    [[nodiscard]] kernel::Indices indices() const { return {raw().data(), count_, width()}; }
    /// Calls f with a zero of the type of the stored positions.
    template <class F>
    void with_type(F f) const {
      if (width() == 2) f(std::uint16_t{});
      else if (width() == 4) f(std::uint32_t{});
      else f(std::uint64_t{});
    }
    /// The sum of `count(chunk)`; the sums before each chunk stay in `before_`. Waits.
    template <class Count>
    std::size_t count_by_chunks(E& exec, std::size_t n, Count count) {
      const std::size_t chunks = kernel::chunks_for(n);
      const auto before = before_.template take<std::size_t>(exec, chunks + 1);
      exec.scan(chunks, count, before.first(chunks),
                std::span<std::size_t, 1>(before.data() + chunks, 1));
      std::size_t sum = 0;
      exec.read(as_const_span(before.subspan(chunks)), std::span(&sum, 1));
      return sum;
    }
    /// Throws `BackendError` where positions of another rank do not ascend within the model. Waits.
    void expects_ascending(E& exec, std::span<const kernel::Indices> lists) {
      const auto wrong = before_.template take<std::size_t>(exec, lists.size());
      for (std::size_t i = 0; i < lists.size(); ++i) {
        exec.reduce(lists[i].count, std::size_t{0}, kernel::OutOfOrder{lists[i], n_}, kernel::Add{},
                    std::span<std::size_t, 1>(wrong.data() + i, 1));
      }
      std::vector<std::size_t> found(lists.size());
      exec.read(as_const_span(wrong), std::span(found));
      expects_positions(std::ranges::count(found, 0u) == std::ssize(found));
    }
    /// Room for `n` positions, of which `kept` stay. Growth leaves some more, so that a model of
    /// many parts is not copied for each.
    void reserve(E& exec, std::size_t kept, std::size_t n) {
      if (positions_.bytes() >= n * width()) return;
      (void)positions_.template extend<std::byte>(
          exec, kept * width(), std::min(n_, kept == 0 ? n : n + n / 8) * width());
    }

    std::size_t n_ = 0, count_ = 0, covered_ = 0;
    Scratch<E> positions_, before_, gathered_;
    mutable Scratch<E> scalar_;
  };
};

template <Executor E>
template <class C>
void IndexMask::on<E>::unite(E& exec, C& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::size_t> counts(ranks), starts(ranks + 1);
  std::vector<kernel::Indices> theirs;
  const auto shared = scalar_.template take<std::size_t>(exec, ranks + 1);
  exec.write(std::span<const std::size_t>(&count_, 1), shared.subspan(ranks));
  all_gather(exec, comm, as_const_span(shared.subspan(ranks)), shared.first(ranks));
  exec.read(as_const_span(shared.first(ranks)), std::span(counts));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    expects_positions(counts[rank] <= n_);
    starts[rank + 1] = starts[rank] + counts[rank];
    counts[rank] *= width();
  }
  exec.write(std::span<const std::size_t>(starts), shared);

  const auto all = gathered_.template take<std::byte>(exec, starts[ranks] * width());
  all_gather(exec, comm, as_const_span(raw()), std::span<const std::size_t>(counts), all);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    theirs.push_back({all.data() + starts[rank] * width(), counts[rank] / width(), width()});
  }
  expects_ascending(exec, std::span<const kernel::Indices>(theirs));
  const kernel::IndexLists lists{{all.data(), starts[ranks], width()}, shared.data(), ranks};
  count_ = count_by_chunks(exec, n_, kernel::CountUnion{lists});
  reserve(exec, 0, count_);
  exec.for_each(kernel::chunks_for(n_),
                kernel::FillUnion{lists, before_.template view<std::size_t>(0).data(), indices()});
  covered_ = n_;
}

template <Executor E>
void IndexMask::on<E>::load(E& exec, const Model& model, Reader& reader) {
  reader.expect(model.size(), "number of entries");
  const std::uint64_t count = reader.value();
  if (count > model.size()) {
    throw StateError("pactrain: the saved index mask keeps more entries than the model has");
  }
  begin(exec, model);
  with_type([&]<class I>(I) {
    const auto positions = reader.array<I>(count, "an index mask");
    if (std::adjacent_find(positions.begin(), positions.end(), std::greater_equal<I>()) !=
            positions.end() ||
        (count > 0 && positions.back() >= model.size())) {
      throw StateError(
          "pactrain: the saved index mask is damaged (its positions do not ascend "
          "within the model); load another");
    }
    reserve(exec, 0, count);
    count_ = count;
    exec.write(std::span<const I>(positions), positions_.template view<I>(count));
  });
}

}  // namespace pactrain

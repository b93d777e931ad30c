// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/select_largest.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/kernel/random_scores.hpp>
#include <pactrain/kernel/regrowth.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/kept_bits.hpp>
#include <pactrain/policy/sparsity.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace pactrain {

/// The set of a policy whose mask moves: the one that stands, and the next one, which an update
/// decides part by part and a later step takes; a step that is refused gives it back.
template <Executor E>
class Regrowth {
 public:
  /// A decision begins, which `retract` undoes.
  void begin() noexcept {
    taken_ = false;
    was_decided_ = decided_;
    was_open_ = open_;
    was_chosen_ = chosen_;
    was_revision_ = revision_;
  }
  /// The revision that the set which stands is of.
  [[nodiscard]] std::uint64_t revision() const noexcept { return revision_; }
  [[nodiscard]] bool chosen() const noexcept { return chosen_; }
  /// The first set: what `keep` says of positions, and the parts that are kept whole.
  template <class Keep>
  void choose(E& exec, const Model& model, Keep keep, const std::vector<bool>& whole) {
    kept_.begin(exec, model.size());
    kept_.assign(exec, 0, model.size(), keep);
    keep_whole(exec, model, whole);
  }
  void choose_random(E& exec, const Model& model, const Sparsity& sparsity, std::uint64_t seed,
                     const std::vector<bool>& whole) {
    kept_.begin(exec, model.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Part& part = model.parts()[i];
      const auto scores = draw(exec, {kernel::mix(seed, 'f'), 0}, i, part.size);
      const Ranked<float> run{scores, {}};
      kernel::Cut<float> cut;
      select_largest(exec, std::span(&run, 1), part.size - fraction_of(part.size, sparsity.of(i)),
                     std::span(&cut, 1), scratch_);
      kept_.assign(exec, part.first, part.size, kernel::KeepLargest<float>{scores.data(), {}, cut});
    }
    keep_whole(exec, model, whole);
  }
  /// Everything is kept in this step.
  void open() noexcept { open_ = true; }
  /// The next set, if one is decided, is that of `revision`, and stands.
  void take_next(std::uint64_t revision) {
    open_ = false;
    revision_ = revision;
    if (!decided_) return;
    std::swap(kept_, next_);
    decided_ = false;
    taken_ = true;
  }
  void retract() {
    open_ = was_open_;
    chosen_ = was_chosen_;
    revision_ = was_revision_;
    decided_ = was_decided_;
    if (taken_) std::swap(kept_, next_);
    taken_ = false;
  }

  /// The next set of `step` begins as the one that stands.
  void begin_next(E& exec, const Model& model, Step step) {
    if (decided_ && next_step_ == step) return;
    next_.begin(exec, model.size());
    next_.assign(exec, 0, model.size(), kept_.from(0));
    next_step_ = step;
    decided_ = true;
  }
  /// In the next set, part `part` drops a share of its weights, the smallest, and grows as many
  /// others: where `gradient`, its pieces, is largest, or at random where there is none. Waits.
  template <class W, class T>
  void exchange(E& exec, const Model& model, std::size_t part, std::span<const W> weights,
                std::span<const Piece<T>> gradient, double share, Random random) {
    const Part& in = model.parts()[part];
    const std::size_t count = count_kept(exec, in), moved = fraction_of(count, share);
    if (moved == 0) return;
    const Ranked<W> run{weights, kept_.from(in.first)};
    kernel::Cut<W> cut;
    select_largest(exec, std::span(&run, 1), count - moved, std::span(&cut, 1), scratch_);
    stay_.begin(exec, model.size());
    stay_.assign(exec, in.first, in.size, kernel::KeepLargest<W>{weights.data(), run.among, cut});
    free_.begin(exec, model.size());
    free_.assign(exec, in.first, in.size, kernel::NotAmong{stay_.from(in.first)});
    if (gradient.empty()) {
      const auto scores = draw(exec, random, part, in.size);
      const Piece<const float> piece{part, 0, in.first, in.size, scores.data()};
      grow(exec, std::span(&piece, 1), moved);
    } else {
      grow(exec, gradient, moved);
    }
  }

  [[nodiscard]] kernel::Among keep(std::size_t first) const {
    return open_ ? kernel::Among{} : kept_.from(first);
  }
  [[nodiscard]] kernel::Among kept(std::size_t first) const { return kept_.from(first); }
  [[nodiscard]] kernel::Among next(std::size_t first) const { return next_.from(first); }

  void save(E& exec, Writer& writer) const {
    writer.value(revision_);
    writer.value(chosen_);
    writer.value(open_);
    writer.value(decided_);
    if (chosen_) kept_.save(exec, writer);
    if (decided_) next_.save(exec, writer);
  }
  /// Throws `StateError` where the state is of another model; then nothing has changed.
  void load(E& exec, const Model& model, Reader& reader) {
    Regrowth loaded;
    loaded.revision_ = reader.value();
    loaded.chosen_ = reader.value() != 0;
    loaded.open_ = reader.value() != 0;
    loaded.decided_ = reader.value() != 0;
    if (loaded.chosen_) loaded.kept_.load(exec, model.size(), reader);
    if (loaded.decided_) loaded.next_.load(exec, model.size(), reader);
    *this = std::move(loaded);
  }

 private:
  void keep_whole(E& exec, const Model& model, const std::vector<bool>& whole) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const Part& part = model.parts()[i];
      if (whole[i]) kept_.assign(exec, part.first, part.size, kernel::Among{});
    }
    chosen_ = true;
  }
  std::span<const float> draw(E& exec, Random random, std::size_t part, std::size_t n) {
    const auto scores = scores_.template take<float>(exec, n);
    exec.for_each((n + 3) / 4, kernel::RandomScores{random, part, n, scores.data()});
    return scores;
  }
  std::size_t count_kept(E& exec, const Part& part) {
    const auto sum = scratch_.template take<std::size_t>(exec, 1);
    exec.reduce(part.size, std::size_t{0}, kernel::CountAmong{kept_.from(part.first)},
                kernel::Add{}, std::span<std::size_t, 1>(sum.data(), 1));
    std::size_t count = 0;
    exec.read(as_const_span(sum), std::span(&count, 1));
    return count;
  }
  template <class T>
  void grow(E& exec, std::span<const Piece<T>> pieces, std::size_t moved) {
    using V = std::remove_const_t<T>;
    std::vector<Ranked<V>> runs;
    for (const Piece<T>& piece : pieces) {
      runs.push_back({piece.values(), free_.from(piece.first)});
    }
    std::vector<kernel::Cut<V>> cuts(runs.size());
    select_largest(exec, std::span<const Ranked<V>>(runs), moved, std::span(cuts), scratch_);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      next_.assign(exec, pieces[i].first, pieces[i].size,
                   kernel::KeepGrown<V>{stay_.from(pieces[i].first),
                                        {pieces[i].data, runs[i].among, cuts[i]}});
    }
  }

  KeptBits<E> kept_, next_, stay_, free_;
  bool chosen_ = false, was_chosen_ = false;    ///< is there a set?
  bool open_ = false, was_open_ = false;        ///< is everything kept for now?
  bool decided_ = false, was_decided_ = false;  ///< is there a next set?
  bool taken_ = false;                          ///< has this decision taken it?
  std::uint64_t revision_ = 0, was_revision_ = 0;
  Step next_step_ = 0;
  Scratch<E> scores_, scratch_;
};

}  // namespace pactrain

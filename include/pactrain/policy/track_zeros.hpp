// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kernel/zeros.hpp>
#include <pactrain/policy/policy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace pactrain {

/// Learns which entries are always zero from the reduced gradients: PacTrain's mask tracker (arXiv
/// 2505.18563), for models that something else prunes.
///
/// A parameter is kept whole until the set of its entries that were zero in every observation has
/// stood unchanged for `patience` observations; from then on that set is left out. All ranks see
/// the same reduced values, so they learn the same set and exchange nothing for it. Where a rank
/// has a non-zero outside the mask the reducer finishes that call dense and calls `restart`:
/// learning begins again, with that step as its first observation. Parameters learn separately.
///
/// While a parameter is learning, an observation reads one count per piece back to the host; once
/// it has learned, none. Throws `PreconditionError` for a patience of 0.
struct TrackZeros {
  std::uint64_t patience = 10;  ///< observations without a change before a set is believed

  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::dropped;
  static constexpr bool learned = true;
  [[nodiscard]] std::uint64_t fingerprint() const { return Fingerprint()(patience).value(); }

  template <Executor E>
  class on;
};

template <Executor E>
class TrackZeros::on {
 public:
  explicit on(const TrackZeros& options) : patience_(options.patience) {
    expects(patience_ > 0, [] {
      return "the patience is 0 (one observation proves nothing); choose one of at least 1";
    });
  }

  [[nodiscard]] std::uint64_t revision(Step) const { return revision_; }
  template <class T>
  void prepare(E&, const Model&, std::span<const Piece<T>>, Step) {}
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    const bool believed = piece.part < parts_.size() && parts_[piece.part].believed;
    return kernel::KeepOutside{believed ? zeros().data() : nullptr, piece.first};
  }

  /// Takes in the reduced values of one step: each entry at most once, parameters whole.
  template <class T>
  void observe(E& exec, const Model& model, std::span<const Piece<T>> reduced, Step) {
    using V = std::remove_const_t<T>;
    if (model.fingerprint() != layout_ || parts_.size() != model.parts().size()) begin(exec, model);
    counts_.assign(reduced.size(), 0);
    bool learning = false, counting = false;
    for (const auto& piece : reduced) {
      learning = learning || !parts_[piece.part].believed;
      counting = counting || (!parts_[piece.part].believed && parts_[piece.part].seen);
    }
    if (!learning) return;

    auto lost = lost_.template take<std::size_t>(exec, reduced.size());
    exec.for_each(lost.size(), kernel::Fill<std::size_t>{lost.data(), 0});
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      const Piece<T>& piece = reduced[i];
      const Tracked& part = parts_[piece.part];
      if (part.believed || piece.size == 0) continue;
      const std::size_t words =
          (piece.first + piece.size - 1) / kernel::word_bits - piece.first / kernel::word_bits + 1;
      const kernel::NonZeroWord<V> non_zero{piece.data, piece.first, piece.size};
      if (part.seen) {
        exec.reduce(words, std::size_t{0}, kernel::CountLost<V>{non_zero, zeros().data()},
                    kernel::Add{}, std::span<std::size_t, 1>(lost.data() + i, 1));
        exec.for_each(words, kernel::DropLost<V>{non_zero, zeros().data()});
      } else {
        exec.for_each(words, kernel::Assign<kernel::IsZero<V>>{
                                 {piece.data}, piece.first, piece.size, zeros().data()});
      }
    }
    if (counting) exec.read(as_const_span(lost), std::span(counts_));
    conclude(reduced);
  }
  /// Forgets what was learned; everything is kept again.
  void restart() {
    for (Tracked& part : parts_) part = {};
    ++revision_;
  }

  void save(E& exec, Writer& writer) const {
    writer.value(revision_);
    writer.value(n_);
    writer.value(parts_.size());
    for (const Tracked& part : parts_) {
      writer.value(part.unchanged);
      writer.value(static_cast<std::uint64_t>(part.seen) | std::uint64_t{part.believed} << 1);
    }
    if (parts_.empty()) return;
    std::vector<kernel::Word> words(kernel::words_for(n_));
    exec.read(as_const_span(zeros()), std::span(words));
    writer.array(std::span<const kernel::Word>(words));
  }
  /// Throws `StateError` where the state is of another model; then nothing has changed.
  void load(E& exec, const Model& model, Reader& reader) {
    const std::uint64_t revision = reader.value();
    const std::uint64_t n = reader.value();
    const std::uint64_t count = reader.value();
    if (count != 0 && (count != model.parts().size() || n != model.size())) {
      throw StateError(
          "pactrain: the saved zeros are of a model with other parameters; load the "
          "state of this model");
    }
    std::vector<Tracked> parts(count);
    for (Tracked& part : parts) {
      part.unchanged = reader.value();
      const std::uint64_t flags = reader.value();
      part.seen = (flags & 1) != 0;
      part.believed = (flags & 2) != 0;
    }
    if (count != 0) {
      const auto words =
          reader.array<kernel::Word>(kernel::words_for(model.size()), "learned zeros");
      begin(exec, model);
      exec.write(std::span<const kernel::Word>(words), zeros());
    }
    parts_ = std::move(parts);
    revision_ = revision;
  }

 private:
  struct Tracked {
    std::uint64_t unchanged = 0;  ///< observations in a row that took nothing from the set
    bool seen = false;            ///< is there a set yet?
    bool believed = false;        ///< is it left out?
  };

  void begin(E& exec, const Model& model) {
    n_ = model.size();
    layout_ = model.fingerprint();
    parts_.assign(model.parts().size(), {});
    counted_.assign(model.parts().size(), 0);
    auto words = zeros_.template take<kernel::Word>(exec, kernel::words_for(n_));
    exec.for_each(words.size(), kernel::Fill<kernel::Word>{words.data(), 0});
  }
  /// Counts an observation for every part that has pieces, by what its pieces lost.
  template <class T>
  void conclude(std::span<const Piece<T>> reduced) {
    for (std::size_t i = 0; i < reduced.size(); ++i) counted_[reduced[i].part] = 0;
    for (std::size_t i = 0; i < reduced.size(); ++i) counted_[reduced[i].part] += counts_[i];
    bool changed = false;
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      Tracked& part = parts_[reduced[i].part];
      std::size_t& lost = counted_[reduced[i].part];
      if (lost == done || part.believed) continue;
      if (part.seen) {
        part.unchanged = lost == 0 ? part.unchanged + 1 : 0;
        part.believed = part.unchanged >= patience_;
        changed = changed || part.believed;
      }
      part.seen = true;
      lost = done;
    }
    if (changed) ++revision_;
  }
  [[nodiscard]] std::span<kernel::Word> zeros() const {
    return zeros_.template view<kernel::Word>(kernel::words_for(n_));
  }

  static constexpr std::size_t done = ~std::size_t{0};

  std::uint64_t patience_, revision_ = 0, layout_ = 0;
  std::size_t n_ = 0;
  std::vector<Tracked> parts_;
  std::vector<std::size_t> counts_, counted_;  ///< what pieces lost, what parts lost
  Scratch<E> zeros_, lost_;
};

}  // namespace pactrain

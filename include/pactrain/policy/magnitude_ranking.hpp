// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/policy/exempt.hpp>
#include <pactrain/policy/kept_bits.hpp>
#include <pactrain/policy/ranking.hpp>
#include <pactrain/policy/sparsity.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pactrain {

/// What pruning by magnitude needs at any schedule: the weights, which of them are left, and a
/// decision that may be taken again. Decisions are numbered by revision: the set of a revision is
/// chosen among what the one before it kept, so nothing that was pruned comes back. A decision that
/// is refused is retracted; a revision that is prepared twice starts from the same set both times.
template <Executor E>
class MagnitudeRanking {
 public:
  MagnitudeRanking(Values weights, Scope scope, const std::vector<std::string>& exempt)
      : weights_(std::move(weights)), scope_(scope) {
    expects_weights(weights_);
    exempt_ = exempt_parts(model_of(weights_), exempt);
  }

  /// Everything is kept at this revision.
  void keep_all(const Model& model, std::uint64_t revision) {
    expects_layout(weights_, model);
    earlier_.keep_all();
    kept_.keep_all();
    earlier_revision_ = revision_ = revision;
  }
  /// The decision that was prepared last was refused: the one before it stands.
  void retract() {
    std::swap(kept_, earlier_);
    revision_ = earlier_revision_;
  }
  /// The share `sparsity` is pruned at this revision. Waits. Throws `PreconditionError`; then
  /// nothing has changed. Precondition: the sparsity does not fall as the revision grows.
  void prune(E& exec, const Model& model, const Sparsity& sparsity, std::uint64_t revision) {
    expects_layout(weights_, model);
    sparsity.expect_fits(model);
    with_gradient_type(weights_.type(),
                       [&]<class T>() { prune_as<T>(exec, model, sparsity, revision); });
  }

  template <class T>
  [[nodiscard]] kernel::Among keep(const Piece<T>& piece) const {
    return kept_.from(piece.first);
  }

  void save(E& exec, Writer& writer) const {
    writer.value(revision_);
    kept_.save(exec, writer);
  }
  void load(E& exec, const Model& model, Reader& reader) {
    const std::uint64_t revision = reader.value();
    kept_.load(exec, model.size(), reader);
    // Preparing the saved revision again must choose the saved set again.
    earlier_.begin(exec, model.size());
    earlier_.assign(exec, 0, model.size(), kept_.from(0));
    earlier_revision_ = revision_ = revision;
  }

 private:
  template <class T>
  void prune_as(E& exec, const Model& model, const Sparsity& sparsity, std::uint64_t revision) {
    const bool again = revision == revision_;
    const bool fresh = revision < revision_;
    const KeptBits<E>& before = again ? earlier_ : kept_;
    std::vector<Ranked<T>> runs;
    std::vector<std::size_t> parts;
    for (std::size_t part = 0; part < exempt_.size(); ++part) {
      const auto values = weights_.as<T>(part);
      if (exempt_[part]) continue;
      expects_no_nan(exec, model, part, values, scratch_);
      const std::size_t first = model.parts()[part].first;
      runs.push_back({values, fresh ? kernel::Among{} : before.from(first)});
      parts.push_back(part);
    }
    const auto cuts =
        cuts_at(exec, std::span<const Ranked<T>>(runs), parts, scope_, sparsity, scratch_);

    next_.begin(exec, model.size());
    for (std::size_t part = 0; part < exempt_.size(); ++part) {
      if (exempt_[part]) {
        next_.assign(exec, model.parts()[part].first, model.parts()[part].size, kernel::Among{});
      }
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto values = runs[i].values;
      next_.assign(exec, model.parts()[parts[i]].first, values.size(),
                   kernel::KeepLargest<T>{values.data(), runs[i].among, cuts[i]});
    }
    if (!again) {
      std::swap(earlier_, kept_);
      earlier_revision_ = revision_;
    }
    if (fresh) earlier_.keep_all();
    std::swap(kept_, next_);
    revision_ = revision;
  }

  Values weights_;
  Scope scope_;
  std::vector<bool> exempt_;
  std::uint64_t earlier_revision_ = 0, revision_ = 0;
  KeptBits<E> earlier_, kept_, next_;
  Scratch<E> scratch_;
};

}  // namespace pactrain

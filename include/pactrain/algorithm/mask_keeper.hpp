// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/algorithm/refusal.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/backend.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/mask/mask.hpp>
#include <pactrain/policy/policy.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace pactrain {

/// The mask that stands, and how it follows the policy: built where the policy's answer changes,
/// agreed by all ranks before it counts, and taken back if the step that brought it is refused.
template <class Policy, class Mask, Backend B>
class MaskKeeper {
  using E = typename B::executor_type;
  using C = typename B::communicator_type;
  using MaskOn = typename Mask::template on<E>;
  using PolicyOn = typename Policy::template on<E>;

 public:
  explicit MaskKeeper(const Policy& policy) : options_(policy), policy_(policy) {
    if constexpr (requires { policy.weights.parts(); }) {
      if (!policy.weights.empty()) set_model(model_of(policy.weights));
    }
  }

  [[nodiscard]] const Model& model() const noexcept { return model_; }
  [[nodiscard]] const MaskOn& mask() const noexcept { return masks_[current_]; }
  [[nodiscard]] PolicyOn& policy() noexcept { return policy_; }
  /// What the policy says of its own estimate in this step, if it says anything.
  [[nodiscard]] std::optional<double> quality() const {
    if constexpr (requires { policy_.quality(); }) return policy_.quality();
    else return {};
  }
  /// Is there a mask yet?
  [[nodiscard]] bool stands() const noexcept { return stands_; }
  /// Has it changed since the last commit?
  [[nodiscard]] bool changed() const noexcept { return changed_; }
  /// The first slot of part `part`; one entry more than there are parts.
  [[nodiscard]] std::size_t slot(std::size_t part) const { return slots_[part]; }

  /// Fixes the layout where the policy's weights have not. One that the user `told` stands until he
  /// tells another or ranks agree; that of a first call goes if the call is refused.
  template <class T>
  void introduce(std::span<const Slice<T>> slices, bool told = false) {
    const bool anew = told && told_ && !agreed_ && !stands_;
    if (!model_.parts().empty() && !anew) return;
    Model model;
    for (const auto& slice : slices) model.add(slice.name, slice.values.size(), slice.rows);
    set_model(std::move(model));
    introduced_ = !told;
    told_ = told;
  }

  /// Must `refresh` be called before this step's values can be packed?
  [[nodiscard]] bool due(Step step) const {
    return !agreed_ || Policy::support != Support::shared || policy_.revision(step) != revision_;
  }

  /// Builds this step's mask from the policy, and makes all ranks agree on it and on `statements`;
  /// where each rank chooses for itself, on `statements` the first time, or if `checked`. If
  /// nothing is due, or the mask `stays` whatever is due, ranks agree on what stands.
  /// `trouble` is what this rank has found wrong before, and becomes what a local policy finds
  /// wrong, for the call to tell; `gradient` are its pieces, for local policies.
  /// Throws the same error on all ranks, with mask and layout as they were. Collective; waits.
  template <class S>
  void refresh(E& exec, C& comm, std::span<const Piece<const S>> gradient, Step step,
               std::vector<Statement> statements, std::string& trouble, bool checked,
               bool stays = false) {
    if (stays || !due(step)) return agree_on(exec, comm, mask(), std::move(statements), trouble);
    const std::uint64_t revision = Policy::support == Support::shared ? policy_.revision(step) : 0;
    const bool rebuild = !stands_ || Policy::support != Support::shared || revision != revision_;
    MaskOn& next = rebuild ? masks_[1 - current_] : masks_[current_];
    const bool proposed = rebuild && trouble.empty();
    if (proposed) trouble = build(exec, comm, next, gradient, step);
    try {
      if (!agreed_ || checked || Policy::support == Support::shared) {
        agree_on(exec, comm, next, std::move(statements), trouble);
      } else if (!trouble.empty()) {
        begin_empty(exec, next);  // the others unite with nothing of ours, and hear why at the end
      }
      if constexpr (Policy::support == Support::local) next.unite(exec, comm);
      if constexpr (Policy::support == Support::led) {
        next.broadcast(exec, comm, policy_.leader(step, comm.size()));
      }
    } catch (...) {
      retract();
      if (!agreed_ && introduced_) set_model({});
      throw;
    }
    if (rebuild) {
      before_ = {revision_, stands_};
      current_ = 1 - current_;
      revision_ = revision;
      changed_ = true;
      find_slots(exec);
    }
    stands_ = agreed_ = true;
  }
  /// A learned mask was found wrong: the policy starts to learn anew.
  void restart() {
    if constexpr (requires { policy_.restart(); }) policy_.restart();
  }
  /// A policy that wants to sees what was reduced.
  template <class T>
  void observe(E& exec, std::span<const Piece<T>> reduced, Step step) {
    if constexpr (requires { policy_.observe(exec, model_, reduced, step); }) {
      policy_.observe(exec, model_, reduced, step);
    }
  }
  /// The step was accepted: the mask is final.
  void commit() noexcept { changed_ = prepared_ = false; }
  /// The step was refused: the mask before it stands again.
  void roll_back(E& exec) {
    if (!changed_) return;
    current_ = 1 - current_;
    std::tie(revision_, stands_) = before_;
    changed_ = false;
    retract();
    if (stands_) return find_slots(exec);
    agreed_ = false;
    if (introduced_) set_model({});
  }

  /// Have both the same layout and the same mask? Waits.
  [[nodiscard]] bool is_like(E& exec, const MaskKeeper& other) const {
    const auto told = [&](const MaskKeeper& one) {
      const std::size_t size = one.stands_ ? one.model_.size() : 0;
      return std::tuple(one.model_.fingerprint(), one.model_.shapes(), one.stands_,
                        one.mask().fingerprint(exec, 0, size));
    };
    return told(*this) == told(other);
  }

  void save(E& exec, Writer& writer) const {
    writer.value(model_.parts().size());
    for (const Part& part : model_.parts()) {
      writer.value(part.name);
      writer.value(part.size);
      writer.value(part.rows);
    }
    writer.value(revision_);
    writer.value(stands_);
    if (stands_) mask().save(exec, writer);
    if constexpr (requires { policy_.save(exec, writer); }) policy_.save(exec, writer);
  }
  /// Reads into this keeper, which is to be dropped if this throws.
  void load(E& exec, Reader& reader, const Model& expected) {
    const std::uint64_t parts = reader.value();
    Model model;
    for (std::uint64_t i = 0; i < parts; ++i) {
      std::string name = reader.text(1u << 16);
      const std::uint64_t size = reader.value(), rows = reader.value();
      if (model.part_named(name) != model.parts().size() || (rows > 1 && size % rows != 0)) {
        throw StateError("pactrain: the state is damaged (its parameter '" + name + "' cannot be)");
      }
      model.add(std::move(name), size, rows);
    }
    if (!expected.parts().empty() &&
        (model.fingerprint() != expected.fingerprint() || model.shapes() != expected.shapes())) {
      throw StateError(
          "pactrain: the state is of another model (its parameters have other names, sizes or "
          "rows); load the state of this one");
    }
    set_model(expected.parts().empty() ? std::move(model) : expected);
    revision_ = reader.value();
    stands_ = reader.value() != 0;
    if (stands_) {
      masks_[current_].load(exec, model_, reader);
      find_slots(exec);
    }
    if constexpr (requires { policy_.load(exec, model_, reader); }) {
      policy_.load(exec, model_, reader);
    }
  }

 private:
  /// The policy's last decision does not count, if it made one since the last commit.
  void retract() {
    if constexpr (requires { policy_.retract(); }) {
      if (prepared_) policy_.retract();
    }
    prepared_ = false;
  }
  void set_model(Model model) {
    model_ = std::move(model);
    whole_.clear();
    cut<const float>(model_, 0, model_.size(), nullptr, whole_);
  }
  /// The mask is the last statement: nothing where ranks choose for themselves, or know no better.
  void agree_on(E& exec, C& comm, const MaskOn& mask, std::vector<Statement> statements,
                const std::string& trouble) {
    const bool known = Policy::support == Support::shared && trouble.empty();
    statements.push_back(
        {"mask", known ? mask.fingerprint(exec, 0, model_.size()) | 1u : 0, false});
    agree(exec, comm, std::span<const Statement>(statements), trouble,
          [&](std::string_view field, const auto& stated) {
            return stated("mask") ? located(exec, comm, mask, field) : std::string();
          });
  }
  /// Where masks differ, if it is they that differ, or the policies that chose them.
  std::string located(E& exec, C& comm, const MaskOn& mask, std::string_view field) {
    if (field != "mask" && field != "policy") return {};
    const std::uint64_t mine = mask.fingerprint(exec, 0, model_.size());
    const auto all = gather_host_values(exec, comm, std::span<const std::uint64_t>(&mine, 1));
    if (odd_one_out(all).rank < 0) return {};
    const std::size_t at = first_difference(exec, comm, mask, model_.size());
    return (field == "mask" ? " at position " : "; their masks differ from position ") +
           std::to_string(at) + " (" + model_.describe(at) + ")";
  }
  void begin_empty(E& exec, MaskOn& mask) {
    mask.begin(exec, model_);
    mask.end(exec);
  }
  /// Returns what went wrong, if anything.
  template <class S>
  std::string build(E& exec, C& comm, MaskOn& mask, std::span<const Piece<const S>> gradient,
                    Step step) {
    try {
      mask.begin(exec, model_);
      if constexpr (Policy::support == Support::shared) {
        const std::span<const Piece<const float>> whole(whole_);
        policy_.prepare(exec, model_, whole, step);
        prepared_ = true;
        assign(exec, mask, whole);
      } else {
        if constexpr (Policy::support == Support::led) {
          if (comm.rank() != policy_.leader(step, comm.size())) return {};
        }
        policy_.prepare(exec, model_, gradient, step);
        prepared_ = true;
        assign(exec, mask, gradient);
      }
    } catch (const std::exception& error) {  // or the other ranks would wait for this one
      return without_prefix(error.what());
    }
    return {};
  }
  template <class S>
  void assign(E& exec, MaskOn& mask, std::span<const Piece<const S>> pieces) {
    const StageRegion region(exec, "assign");
    for (const auto& piece : pieces) mask.assign(exec, piece, policy_.keep(piece));
    mask.end(exec);
  }
  void find_slots(E& exec) {
    slots_.clear();
    for (const Part& part : model_.parts()) slots_.push_back(mask().slot(exec, part.first));
    slots_.push_back(mask().count());
  }

  Policy options_;
  PolicyOn policy_;
  Model model_;
  std::vector<Piece<const float>> whole_;
  std::array<MaskOn, 2> masks_;
  std::size_t current_ = 0;
  std::vector<std::size_t> slots_;
  std::uint64_t revision_ = 0;
  bool stands_ = false, agreed_ = false, changed_ = false, introduced_ = false;
  bool told_ = false;
  bool prepared_ = false;  ///< has the policy decided since the last commit?
  std::pair<std::uint64_t, bool> before_{0, false};
};

}  // namespace pactrain

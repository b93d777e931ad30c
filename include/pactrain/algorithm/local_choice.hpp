// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace pactrain {

/// What a local policy keeps from step to step, where it chooses as part of a codec.
template <class P, Executor E>
class ChoiceState {
 public:
  explicit ChoiceState(const auto& codec) : policy_(codec.policy) {}

  [[nodiscard]] const typename P::template on<E>& policy() const noexcept { return policy_; }
  template <class S>
  void prepare(E& exec, const Model& model, std::span<const Piece<const S>> values, Step step) {
    policy_.prepare(exec, model, values, step);
    prepared_ = true;
  }
  /// The policy's decision counts if the step was accepted, if it made one in it.
  void close(bool accepted) {
    if constexpr (requires { policy_.retract(); }) {
      if (prepared_ && !accepted) policy_.retract();
    }
    prepared_ = false;
  }
  /// What the policy says of its estimate.
  [[nodiscard]] std::optional<double> quality() const {
    if constexpr (requires { policy_.quality(); }) return policy_.quality();
    else return {};
  }
  void save(E& exec, Writer& writer) const {
    if constexpr (requires { policy_.save(exec, writer); }) policy_.save(exec, writer);
  }
  void load(E& exec, const Model& model, Reader& reader) {
    if constexpr (requires { policy_.load(exec, model, reader); }) {
      policy_.load(exec, model, reader);
    }
  }

 private:
  typename P::template on<E> policy_;
  bool prepared_ = false;
};

/// What a policy chooses among packed values: the packed vector is its model, with the parts of the
/// reducer's by their names and numbers; the choice is kept in a mask.
template <class Mask, Executor E>
class LocalChoice {
 public:
  using MaskOn = typename Mask::template on<E>;

  /// Throws what the policy throws. May wait.
  template <class P, GradientValue S>
  void choose(E& exec, const CodecCall& call, std::span<const S> values, ChoiceState<P, E>& state) {
    lay_out(call);
    std::vector<Piece<const S>> pieces;
    cut(model_, 0, model_.size(), values.data(), pieces);
    state.prepare(exec, model_, std::span<const Piece<const S>>(pieces), call.random.step);
    mask_.begin(exec, model_);
    for (const auto& piece : pieces) mask_.assign(exec, piece, state.policy().keep(piece));
    mask_.end(exec);
    counts_.clear();
    std::size_t before = 0;
    for (const Part& part : model_.parts()) {
      const std::size_t end = mask_.slot(exec, part.first + part.size);
      counts_.push_back(end - std::exchange(before, end));
    }
  }
  /// How many values of a part were chosen.
  [[nodiscard]] std::size_t count_in(std::size_t part) const { return counts_[part]; }
  [[nodiscard]] const Model& model() const noexcept { return model_; }
  [[nodiscard]] const MaskOn& mask() const noexcept { return mask_; }

 private:
  void lay_out(const CodecCall& call) {
    if (std::ranges::equal(parts_, call.parts)) return;
    parts_.assign(call.parts.begin(), call.parts.end());
    model_ = Model{};
    if (call.model == nullptr) {
      for (const PackedPart& part : parts_) model_.add("", part.size);
      return;
    }
    // All of them, so that they have the reducer's numbers: a call leaves out what is empty.
    auto next = parts_.begin();
    for (std::size_t i = 0; i < call.model->parts().size(); ++i) {
      const bool has = next != parts_.end() && next->part == i;
      model_.add(call.model->parts()[i].name, has ? (next++)->size : 0);
    }
  }

  std::vector<PackedPart> parts_;
  std::vector<std::size_t> counts_;
  Model model_;
  MaskOn mask_;
};

/// What a codec of owners has in an executor's memory: this rank's choice by policy `P`, as `Mask`.
template <class P, class Mask, Executor E>
class ChoiceOn {
 public:
  ChoiceOn(const auto&, ChoiceState<P, E>& state) : state_(&state) {}

  /// Chooses among `values`. May wait; throws what the policy throws.
  template <GradientValue S>
  void choose(E& exec, const CodecCall& call, std::span<const S> values) {
    choice_.choose(exec, call, values, *state_);
  }
  [[nodiscard]] const typename Mask::template on<E>& mask() const { return choice_.mask(); }
  /// Which values were chosen, by their places, and how many of a part.
  [[nodiscard]] auto chosen() const { return choice_.mask().keep(); }
  [[nodiscard]] std::size_t chosen_in(std::size_t part) const { return choice_.count_in(part); }
  /// What the policy says of its estimate.
  [[nodiscard]] std::optional<double> quality() const { return state_->quality(); }
  /// How many were chosen.
  [[nodiscard]] std::size_t kept() const noexcept { return choice_.mask().count(); }

 private:
  ChoiceState<P, E>* state_;
  LocalChoice<Mask, E> choice_;
};

}  // namespace pactrain

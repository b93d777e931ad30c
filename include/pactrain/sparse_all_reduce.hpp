// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/amplify.hpp>
#include <pactrain/algorithm/call_list.hpp>
#include <pactrain/algorithm/checked_parts.hpp>
#include <pactrain/algorithm/identity.hpp>
#include <pactrain/algorithm/reducer_state.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/backend.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/core/pending.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/slices.hpp>
#include <pactrain/feedback/feedback.hpp>
#include <pactrain/mask/bound_mask.hpp>
#include <pactrain/mask/mask.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pactrain {

/// Replaces gradients by their mean (or sum) over all ranks, at the entries that `Policy` keeps,
/// and by zero elsewhere; only the kept entries travel, packed, as `Codec` makes them, and what is
/// not conveyed is remembered by `Feedback`. PacTrain, arXiv 2505.18563.
///
/// All calls are collective: every rank makes them in the same order. A call completes or throws;
/// if it throws, gradient, residual, mask and step are as they were. Ranks compare sizes, types,
/// options, step and mask before the first value moves and whenever the mask changes; a difference
/// is the same `RankMismatch` on all. The first call fixes the value type. Equal calls allocate
/// nothing from the third on, while a shared mask stands. The backend must outlive the reducer; one
/// thread at a time may use it.
template <class Policy, class Mask, class B, class Codec = Identity, class Feedback = NoFeedback>
class SparseAllReduce {
  static_assert(CheckedParts<Policy, Mask, B, Codec, Feedback>::fit);

 public:
  using policy_type = Policy;
  using codec_type = Codec;
  using feedback_type = Feedback;
  using executor_type = typename B::executor_type;
  using communicator_type = typename B::communicator_type;

  explicit SparseAllReduce(B& backend, Policy policy = {}, Codec codec = {}, Feedback feedback = {},
                           ReduceOptions options = {})
      : backend_(&backend),
        policy_(std::move(policy)),
        codec_(std::move(codec)),
        feedback_options_(feedback),
        options_(options),
        state_(new_state()) {
    static_cast<void>(codec_on<executor_type>(codec_, state_.codec));  // refuses wrong options
    if constexpr (requires { backend.number_reducer(); }) number_ = backend.number_reducer();
    expects_one_compensation<Policy, Feedback>(policy_);
  }
  SparseAllReduce(const SparseAllReduce&) = delete;
  SparseAllReduce& operator=(const SparseAllReduce&) = delete;

  /// Reduces `gradient`: a vector, a span, a list of slices, or whatever `as_span` accepts; all of
  /// the model, or whole parts by name. Waits. `Contribution::nothing` adds zeros in place of the
  /// gradient, which still becomes the result.
  template <Sliceable X>
  Report operator()(X&& gradient, Contribution contribution = Contribution::gradient) {
    return start(gradient, contribution).report();
  }

  /// Starts the same and returns without waiting for this call's values. A step is complete when
  /// every part of the model has been reduced; a part can be started once a step.
  template <Sliceable X>
  [[nodiscard]] Pending start(X&& gradient, Contribution contribution = Contribution::gradient) {
    static_assert(GradientValue<slice_value_t<X>>,
                  "pactrain: a gradient is written to: pass values of type float, double, float16 "
                  "or bfloat16 that are not const");
    CallBase& call = in_step(
        step(), [&]() -> CallBase& { return started(gradient, contribution); },
        [&] { backend_->communicator().abort("a rank failed in the middle of a call"); });
    return {call, step()};
  }

  /// Can parts of the model be reduced in calls of their own? Whatever ranks gradients or learns
  /// wants all of it in one.
  static constexpr bool takes_parts =
      Policy::support == Support::shared && !is_learned<Policy> && !is_whole<Codec>;
  /// Tells the parameters of the model, in order, before a first call that has only some of them;
  /// needless where the policy knows the weights. Changes nothing once ranks have agreed.
  template <Sliceable X>
  void introduce(X&& gradient) {
    with_slices(gradient, [&](auto slices) { state_.keeper.introduce(slices, true); });
  }

  /// Gives up a step of which some parts were reduced, as after a refusal of one: all of them are
  /// reduced anew, under the same number. What was conveyed already is not taken back into the
  /// residual (`GradientBuckets` accepts or refuses a step's parts together). All ranks do so.
  /// Throws `PreconditionError` while a call is under way.
  void drop_step() {
    calls_.expect_none("its step is given up");
    state_.progress.drop();
  }

  /// The mask that stands, for clearing weights and optimiser state of pruned entries.
  [[nodiscard]] auto mask() { return BoundMask(backend_->executor(), state_.keeper); }
  /// What the codec keeps from step to step, and tells of the last one; empty for most.
  [[nodiscard]] auto& codec_state() noexcept { return state_.codec; }
  /// What it runs on.
  [[nodiscard]] B& backend() const noexcept { return *backend_; }
  /// The number of the step that the next call belongs to.
  [[nodiscard]] Step step() const noexcept { return state_.progress.step(); }

  /// Multiplies what is remembered by `factor`: for a loss scale that changes by it between steps.
  void rescale(double factor)
    requires requires(feedback_on<Feedback, executor_type>& feedback, executor_type& exec) {
      feedback.rescale(exec, 1.0);
    }
  {
    expects(!state_.progress.under_way(), "a step is under way; rescale residuals between steps");
    if (state_.type && state_.bound != 0) state_.feedback.rescale(backend_->executor(), factor);
  }
  /// Writes mask, residual, step and what the policy has learned. Not collective: a state is a
  /// rank's own. Throws `StateError` if the stream fails, and `PreconditionError` within a step.
  void save(std::ostream& out) {
    expects(!state_.progress.under_way(),
            "a step is under way (some parts have been reduced in it, and not all); save between "
            "steps");
    Writer writer(out);
    identity().save(writer);
    state_.save(backend_->executor(), writer);
    writer.finish();
  }
  /// Reads what `save` wrote, of a reducer with the same parts and the same number of ranks; the
  /// next call goes on bit for bit as the saved one would have. Throws `StateError`, and then this
  /// reducer is as it was.
  void load(std::istream& in) {
    calls_.expect_none("a state is loaded");
    take(read(in, backend_->communicator().size(), false));
  }
  /// Reads what `save` wrote on another number of ranks: the states of all of them, in rank order,
  /// on every rank. Masks and step are theirs; a policy goes on from the state of one of them; what
  /// a codec keeps begins anew; residuals are summed, and shared so that means, or sums, convey
  /// what they would have, or dropped. Throws `StateError`, and then this reducer is as it was.
  void load(std::span<std::istream* const> states, Residuals rule = Residuals::shared) {
    calls_.expect_none("states are loaded");
    expects(!states.empty(),
            "no state is given; pass those of all ranks that saved, in rank order");
    const auto before = static_cast<int>(states.size());
    const int rank = backend_->communicator().rank(), ranks = backend_->communicator().size();
    std::vector<State> all;
    for (std::istream* state : states) all.push_back(read(*state, before, true));
    State mine = std::move(all[static_cast<std::size_t>(rank % before)]);
    all.erase(all.begin() + rank % before);
    for (const State& other : all) {
      if (other.progress.step() != mine.progress.step() || other.bound != mine.bound ||
          other.type != mine.type || !other.keeper.is_like(backend_->executor(), mine.keeper)) {
        throw StateError(
            "pactrain: the states are of different steps, models or masks; load those of one step");
      }
    }
    if constexpr (Feedback::active) {
      const int share = options_.reduction == Reduction::mean ? before : ranks;
      const double factor = rule == Residuals::shared ? 1.0 / share : 0.0;
      if (mine.bound != 0 && rule == Residuals::shared)
        mine.pool(backend_->executor(), all, factor);
      if (rule == Residuals::dropped) mine.bound = 0;
    }
    take(std::move(mine));
  }

 private:
  template <class, GradientValue>
  friend class Call;
  using State = ReducerState<Policy, Mask, B, Codec, Feedback>;

  template <Sliceable X>
  CallBase& started(X&& gradient, Contribution contribution) {
    using T = slice_value_t<X>;
    if (state_.type && *state_.type != value_type<T>) {
      CallBase& call = calls_.template idle_as_usual<T>(*this);
      std::vector<std::string> names;
      with_slices(gradient, [&](auto slices) {
        for (const auto& slice : slices) names.push_back(slice.name);
      });
      call.start_troubled(std::string("the gradient is of type ") + name_of(value_type<T>) +
                              " but was of type " + name_of(*state_.type) +
                              " at first; pass the same type, or make a new reducer",
                          names);
      return call;
    }
    auto& call = calls_.template idle<T>(*this);
    with_slices(gradient, [&](auto slices) { call.start(slices, contribution); });
    state_.type = value_type<T>;
    calls_.template use<T>();
    return call;
  }
  [[nodiscard]] State new_state() const {
    return State(policy_, codec_, feedback_options_, backend_->communicator().size());
  }
  /// What was saved on so many ranks. Throws `StateError`.
  [[nodiscard]] State read(std::istream& in, int ranks, bool codec_begins_anew) {
    Reader reader(in);
    identity().expect(reader, ranks);
    State state = new_state();
    state.load(backend_->executor(), reader, state_.keeper.model(), codec_begins_anew);
    reader.finish();
    return state;
  }
  void take(State&& state) {
    state_ = std::move(state);
    calls_.clear();
  }
  [[nodiscard]] Random random() const {
    const auto rank = static_cast<std::uint64_t>(backend_->communicator().rank());
    return {kernel::mix(options_.seed, rank), state_.progress.step()};
  }
  [[nodiscard]] ReducerIdentity identity() const {
    return ReducerIdentity::of<Mask>(backend_->communicator().size(), policy_, codec_,
                                     feedback_options_, options_);
  }
  /// What all ranks must have alike; `coverage` is a hash of the parameters of the call.
  template <class T>
  [[nodiscard]] std::vector<Statement> statements(std::uint64_t coverage) const {
    std::vector<Statement> all{{"reducer", number_, true},
                               {"checking", options_.checked, true},
                               {"size", state_.keeper.model().size(), true},
                               {"parts", state_.keeper.model().fingerprint(), false},
                               {"shapes", state_.keeper.model().shapes(), false},
                               {"value type", static_cast<std::uint64_t>(value_type<T>), false}};
    identity().state(all);
    all.push_back({"step", state_.progress.step(), true});
    all.push_back({"call", agreed_, true});
    all.push_back({"the parameters of the call", coverage, false});
    return all;
  }
  /// Residuals for a model whose sums are made in A.
  template <class A>
  void bind() {
    if constexpr (Feedback::active) {
      if (state_.type && state_.bound == state_.keeper.model().size()) return;
      state_.bound = state_.keeper.model().size();
      state_.feedback.template resize<A>(backend_->executor(), state_.keeper.model());
    }
  }
  /// These parts are under way.
  template <class T>
  void open(std::span<const Piece<T>> pieces) {
    state_.progress.open(state_.keeper.model(), pieces, !takes_parts);
  }
  /// They are done with, and count for the step if they were accepted.
  template <class T>
  void close(std::span<const Piece<T>> pieces, bool accepted) {
    if constexpr (requires { state_.codec.close(accepted); }) {
      if (accepted || !calls_.any_active()) state_.codec.close(accepted);
    }
    if (accepted) {
      state_.keeper.commit();
    } else if (!calls_.any_active()) {
      state_.keeper.roll_back(backend_->executor());
      if (!state_.keeper.stands()) state_.type.reset();  // nothing was ever accepted
    }
    state_.progress.close(state_.keeper.model(), pieces, accepted);
  }

  B* backend_;
  Policy policy_;
  Codec codec_;
  Feedback feedback_options_;
  ReduceOptions options_;
  State state_;
  std::uint64_t number_ = 0;  ///< among the reducers of its backend
  std::uint64_t agreed_ = 0;  ///< how many calls all ranks have begun
  CallList<SparseAllReduce> calls_;
};

}  // namespace pactrain

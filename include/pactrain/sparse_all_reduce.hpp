// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/amplify.hpp>
#include <pactrain/algorithm/call_list.hpp>
#include <pactrain/algorithm/checked_parts.hpp>
#include <pactrain/algorithm/identity.hpp>
#include <pactrain/algorithm/mask_keeper.hpp>
#include <pactrain/algorithm/progress.hpp>
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
        keeper_(policy_),
        codec_state_(codec_),
        feedback_(new_feedback()) {
    static_cast<void>(codec_on<executor_type>(codec_, codec_state_));  // refuses wrong options
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
    with_slices(gradient, [&](auto slices) { keeper_.introduce(slices, true); });
  }

  /// Gives up a step of which some parts were reduced, as after a refusal of one: all of them are
  /// reduced anew, under the same number. What was conveyed already is not taken back into the
  /// residual (`GradientBuckets` accepts or refuses a step's parts together). All ranks do so.
  /// Throws `PreconditionError` while a call is under way.
  void drop_step() {
    calls_.expect_none("its step is given up");
    progress_.drop();
  }

  /// The mask that stands, for clearing weights and optimiser state of pruned entries.
  [[nodiscard]] auto mask() { return BoundMask(backend_->executor(), keeper_); }
  /// What the codec keeps from step to step, and tells of the last one; empty for most.
  [[nodiscard]] auto& codec_state() noexcept { return codec_state_; }
  /// What it runs on.
  [[nodiscard]] B& backend() const noexcept { return *backend_; }
  /// The number of the step that the next call belongs to.
  [[nodiscard]] Step step() const noexcept { return progress_.step(); }

  /// Multiplies what is remembered by `factor`: for a loss scale that changes by it between steps.
  void rescale(double factor)
    requires requires(feedback_on<Feedback, executor_type>& feedback, executor_type& exec) {
      feedback.rescale(exec, 1.0);
    }
  {
    expects(!progress_.under_way(), "a step is under way; rescale residuals between steps");
    if (type_ && bound_ != 0) feedback_.rescale(backend_->executor(), factor);
  }
  /// Writes mask, residual, step and what the policy has learned. Not collective: a state is a
  /// rank's own. Throws `StateError` if the stream fails, and `PreconditionError` within a step.
  void save(std::ostream& out) {
    expects(!progress_.under_way(),
            "a step is under way (some parts have been reduced in it, and not all); save between "
            "steps");
    Writer writer(out);
    identity().save(writer);
    writer.value(progress_.step());
    writer.value(type_ ? 1 + static_cast<int>(*type_) : 0);
    keeper_.save(backend_->executor(), writer);
    if constexpr (keeps_state) codec_state_.save(backend_->executor(), writer);
    const std::size_t bound = type_ ? bound_ : 0;
    writer.value(bound);
    if constexpr (Feedback::active) {
      if (bound != 0) feedback_.save(backend_->executor(), writer);
    }
    writer.finish();
  }
  /// Reads what `save` wrote, of a reducer with the same parts and the same number of ranks; the
  /// next call goes on bit for bit as the saved one would have. Throws `StateError`, and then this
  /// reducer is as it was.
  void load(std::istream& in) {
    calls_.expect_none("a state is loaded");
    Reader reader(in);
    identity().expect(reader);
    const Step step = reader.value();
    const std::uint64_t type = reader.value();
    if (type > 4) throw StateError("pactrain: the state is damaged (its value type is unknown)");
    MaskKeeper<Policy, Mask, B> keeper(policy_);
    keeper.load(backend_->executor(), reader, keeper_.model());
    CodecState codec_state(codec_);
    if constexpr (keeps_state) codec_state.load(backend_->executor(), keeper.model(), reader);
    const std::uint64_t bound = reader.value();
    if (bound != 0 && (bound != keeper.model().size() || type == 0)) {
      throw StateError("pactrain: the state is damaged (its residual has another size)");
    }
    FeedbackOn feedback = new_feedback();
    if constexpr (Feedback::active) {
      if (bound != 0) {
        with_gradient_type(static_cast<ValueType>(type - 1), [&]<class T>() {
          feedback.template resize<arithmetic_t<T>>(backend_->executor(), keeper.model());
        });
        feedback.load(backend_->executor(), reader);
      }
    }
    reader.finish();
    keeper_ = std::move(keeper);
    codec_state_ = std::move(codec_state);
    feedback_ = std::move(feedback);
    progress_ = StepProgress(step);
    bound_ = static_cast<std::size_t>(bound);
    type_.reset();
    if (type != 0) type_ = static_cast<ValueType>(type - 1);
    calls_.clear();
  }

 private:
  template <class, GradientValue>
  friend class Call;
  using FeedbackOn = feedback_on<Feedback, executor_type>;
  using CodecState = pactrain::codec_state<Codec, executor_type>;
  static constexpr bool keeps_state =
      requires(CodecState& state, executor_type& exec, Writer& to) { state.save(exec, to); };

  template <Sliceable X>
  CallBase& started(X&& gradient, Contribution contribution) {
    using T = slice_value_t<X>;
    calls_.settle();
    if (type_ && *type_ != value_type<T>) {
      CallBase& call = calls_.template idle_as_usual<T>(*this);
      std::vector<std::string> names;
      with_slices(gradient, [&](auto slices) {
        for (const auto& slice : slices) names.push_back(slice.name);
      });
      call.start_troubled(std::string("the gradient is of type ") + name_of(value_type<T>) +
                              " but was of type " + name_of(*type_) +
                              " at first; pass the same type, or make a new reducer",
                          names);
      return call;
    }
    auto& call = calls_.template idle<T>(*this);
    with_slices(gradient, [&](auto slices) { call.start(slices, contribution); });
    type_ = value_type<T>;
    calls_.template use<T>();
    return call;
  }
  [[nodiscard]] FeedbackOn new_feedback() const {
    return feedback_for<executor_type>(feedback_options_, backend_->communicator().size());
  }
  [[nodiscard]] Random random() const {
    const auto rank = static_cast<std::uint64_t>(backend_->communicator().rank());
    return {kernel::mix(options_.seed, rank), progress_.step()};
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
                               {"size", keeper_.model().size(), true},
                               {"parts", keeper_.model().fingerprint(), false},
                               {"shapes", keeper_.model().shapes(), false},
                               {"value type", static_cast<std::uint64_t>(value_type<T>), false}};
    identity().state(all);
    all.push_back({"step", progress_.step(), true});
    all.push_back({"call", agreed_, true});
    all.push_back({"the parameters of the call", coverage, false});
    return all;
  }
  /// Residuals for a model whose sums are made in A.
  template <class A>
  void bind() {
    if constexpr (Feedback::active) {
      if (type_ && bound_ == keeper_.model().size()) return;
      bound_ = keeper_.model().size();
      feedback_.template resize<A>(backend_->executor(), keeper_.model());
    }
  }
  /// These parts are under way.
  template <class T>
  void open(std::span<const Piece<T>> pieces) {
    progress_.open(keeper_.model(), pieces, !takes_parts);
  }
  /// They are done with, and count for the step if they were accepted.
  template <class T>
  void close(std::span<const Piece<T>> pieces, bool accepted) {
    if constexpr (requires { codec_state_.close(accepted); }) codec_state_.close(accepted);
    if (accepted) {
      keeper_.commit();
    } else if (!calls_.any_active()) {
      keeper_.roll_back(backend_->executor());
      if (!keeper_.stands()) type_.reset();  // nothing was ever accepted
    }
    progress_.close(keeper_.model(), pieces, accepted);
  }

  B* backend_;
  Policy policy_;
  Codec codec_;
  Feedback feedback_options_;
  ReduceOptions options_;
  MaskKeeper<Policy, Mask, B> keeper_;
  CodecState codec_state_;
  FeedbackOn feedback_;
  std::optional<ValueType> type_;
  std::size_t bound_ = 0;
  StepProgress progress_;
  std::uint64_t number_ = 0;  ///< among the reducers of its backend
  std::uint64_t agreed_ = 0;  ///< how many calls all ranks have begun
  CallList<SparseAllReduce> calls_;
};

}  // namespace pactrain

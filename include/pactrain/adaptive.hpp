// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/algorithm/chosen_exchange.hpp>
#include <pactrain/algorithm/decisions.hpp>
#include <pactrain/algorithm/ways.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/cost/calibrate.hpp>
#include <pactrain/cost/cost_model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace pactrain {

/// A codec that can say no: each bucket goes dense, packed as it is, or packed and coded by one of
/// `Codecs`, whichever a `CostModel` says makes the step shortest, and dense where nothing pays. So
/// `Adaptive<Ternary>`, or `Adaptive<Ternary, Gathered<TopK>>`.
///
/// The way changes how values travel, not what they mean: what a policy prunes is zero on every
/// way, the dense and the packed one give the same bits, and what a codec did not convey stays in
/// the residual, which the next way that conveys it empties. Every codec keeps its own state while
/// others are used.
///
/// The first step goes dense and is looked at: when each bucket could start (on whichever rank was
/// last), and what the mask keeps of it. At the second step, and every `interval` steps, and at the
/// step after one where a tenth more or less is kept, the ways are chosen: by rank 0, for all. The
/// model is `model`, or is calibrated then, in under a second, where a rank has none. As it is made
/// of times, so are the choices: bits are only the same from run to run where codecs lose nothing,
/// or where a `model` is given, all of the gradient is reduced in one call, and ranks do the same.
///
/// Throws `PreconditionError` for a model of other codecs, or one that cannot be; a margin outside
/// [0, 1).
template <class... Codecs>
struct Adaptive {
  static_assert(sizeof...(Codecs) >= 1 && sizeof...(Codecs) <= Decisions::most_codecs,
                "pactrain: Adaptive chooses among one to four codecs; name them, like "
                "Adaptive<Ternary>");
  std::tuple<Codecs...> codecs{};
  std::optional<CostModel> model{};  ///< with one of `codecs` for each of these, in order
  Step interval = 100;               ///< steps between decisions; 0: one decision
  double margin = 0.05;  ///< what a way must save, of an earlier one's cost, to be preferred

  static constexpr bool additive = false;
  static constexpr bool chooses_ways = true;
  static constexpr bool whole = (is_whole<Codecs> || ...);
  static constexpr bool hides_choice = ([] {
    if constexpr (requires { Codecs::hides_choice; }) return Codecs::hides_choice;
    else return false;
  }() || ...);
  static constexpr std::size_t count = sizeof...(Codecs);
  template <std::size_t I>
  using codec = std::tuple_element_t<I, std::tuple<Codecs...>>;
  template <GradientValue T, GradientValue S, Executor E, class C>
  using exchange = ChosenExchange<T, S, E, C, Adaptive>;

  /// Of what is the same in every run: not of the model, which is measured.
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint sum;
    sum(interval)(margin);
    std::apply([&](const auto&... each) { (sum(each.fingerprint()), ...); }, codecs);
    return sum.value();
  }

  /// The codecs' own states, and what was decided.
  template <Executor E>
  class state {
   public:
    explicit state(const Adaptive& options)
        : options_(options),
          model_(options.model),
          decisions_(options.interval),
          states_(std::apply(
              [](const auto&... each) {
                return std::tuple<codec_state<Codecs, E>...>(codec_state<Codecs, E>(each)...);
              },
              options.codecs)) {
      expects(options.margin >= 0 && options.margin < 1,
              "the margin of Adaptive is a share of what a way costs; choose one in [0, 1)");
      if (model_) expect_fits(*model_);
    }

    /// The model that is decided by; none before it is calibrated.
    [[nodiscard]] const std::optional<CostModel>& model() const noexcept { return model_; }
    /// Decides by another model from the next step on, as when the network has changed. All ranks
    /// do so at the same point of the program. Throws `PreconditionError` as the constructor does.
    void use(CostModel model) {
      expect_fits(model);
      model_ = std::move(model);
      decisions_.decide_anew();
    }
    [[nodiscard]] Decisions& decisions() noexcept { return decisions_; }
    [[nodiscard]] const Decisions& decisions() const noexcept { return decisions_; }
    /// The state of codec `I`.
    template <std::size_t I>
    [[nodiscard]] auto& codec() noexcept {
      return std::get<I>(states_);
    }

    /// The way of a call of a reducer `R`. Collective; waits where it is time to decide.
    template <class R, class B>
    [[nodiscard]] Way choose(B& backend, const CallSize& call, Step step) {
      auto& comm = backend.communicator();
      if (comm.size() > 1 && decisions_.due(step)) {
        const std::uint8_t has = model_ ? 1 : 0;  // given, or from before a state was loaded
        const auto have =
            gather_host_values(backend.executor(), comm, std::span<const std::uint8_t>(&has, 1));
        if (std::ranges::find(have, 0) != have.end()) {
          CostModel measured = std::apply(
              [&](const auto&... each) {
                return calibrate<typename R::feedback_type>(backend, each...);
              },
              options_.codecs);
          if (!model_) model_ = std::move(measured);
        }
        decisions_.decide(backend.executor(), comm, *model_, options_.margin, step);
      }
      return decisions_.way(call, step);
    }

    void close(bool accepted) {
      each([&](auto& one) {
        if constexpr (requires { one.close(accepted); }) one.close(accepted);
      });
    }
    void save(E& exec, Writer& writer) {
      decisions_.save(writer);
      each([&](auto& one) {
        if constexpr (requires { one.save(exec, writer); }) one.save(exec, writer);
      });
    }
    void load(E& exec, const Model& model, Reader& reader) {
      decisions_.load(reader, CostModel::first_codec + count);
      each([&](auto& one) {
        if constexpr (requires { one.load(exec, model, reader); }) one.load(exec, model, reader);
      });
    }

   private:
    static void expect_fits(const CostModel& model) {
      expect_valid(model);
      expects(model.codecs.size() == count,
              "the cost model has other codecs than Adaptive; give one cost for each, in order");
    }
    template <class F>
    void each(F f) {
      std::apply([&](auto&... one) { (f(one), ...); }, states_);
    }

    Adaptive options_;
    std::optional<CostModel> model_;
    Decisions decisions_;
    std::tuple<codec_state<Codecs, E>...> states_;
  };
  template <Executor E>
  class on {
   public:
    on(const Adaptive&, state<E>&) {}
  };
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/amplify.hpp>
#include <pactrain/algorithm/call_base.hpp>
#include <pactrain/algorithm/call_pieces.hpp>
#include <pactrain/algorithm/exchange.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/algorithm/refusal.hpp>
#include <pactrain/algorithm/remember.hpp>
#include <pactrain/algorithm/travel.hpp>
#include <pactrain/algorithm/ways.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/policy/policy.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace pactrain {

/// One call of a reducer `R`, from gradient to gradient: the pipeline, written once. Collectives
/// start at the same places on all ranks: in `begin`, `settle` and `judge`, none in `advance`.
template <class R, GradientValue T>
class Call final : public CallBase {
  using E = typename R::executor_type;
  using C = typename R::communicator_type;
  using A = arithmetic_t<T>;
  static constexpr bool remembers = R::feedback_type::active;
  static constexpr bool drops = R::policy_type::unkept == Unkept::dropped;
  static constexpr bool learned = is_learned<typename R::policy_type>;
  /// What is packed: the gradient, or gradient and residual in the type in which sums are made.
  using S = std::conditional_t<remembers, A, T>;

 public:
  explicit Call(R& reducer)
      : r_(reducer),
        exec_(reducer.backend_->executor()),
        comm_(reducer.backend_->communicator()),
        coded_(reducer.codec_, reducer.state_.codec),
        plain_(Identity{}, no_state_) {}
  void start(std::span<const Slice<T>> slices, Contribution contribution) {
    begin({}, slices, contribution);
  }
  void start_troubled(const std::string& trouble, std::span<const std::string> names) override {
    pieces_.clear();
    for (const std::string& name : names) pieces_.expect(r_.state_.keeper.model(), name);
    begin(trouble, {}, Contribution::nothing);
  }
  bool advance() override {
    return local_ || !active_ || on_way([&](auto& way) { return way.poll(exec_, comm_); });
  }
  void settle(const Deadline* given) override {
    if (!active_ || local_) return;
    const Deadline deadline = given != nullptr ? *given : usual_deadline(comm_);
    on_way([&](auto& way) {
      if (way.started()) return true;
      return way.advance(exec_, comm_, [&](auto& request) {
        if (way.started()) return comm_.test(request);
        comm_.finish(request, deadline);
        return true;
      });
    });
  }
  void judge(const Deadline* given) override {
    if (judged_) return;
    const Deadline deadline = given != nullptr ? *given : usual_deadline(comm_);
    const auto wait = [&](auto& request) {
      comm_.finish(request, deadline);
      return true;
    };
    or_close([&] {
      r_.calls_.settle(&deadline);
      if (!local_) on_way([&](auto& way) { return way.advance(exec_, comm_, wait); });
      decide(wait);
    });
    judged_ = true;
  }
  Report complete(const Deadline* deadline) override {
    judge(deadline);
    or_close([&] {
      deliver();
      commit();
    });
    close(true);
    report_.calls[static_cast<std::size_t>(report_.path)] = 1;
    return report_;
  }
  void cancel() override {
    judge(nullptr);
    close(false);
  }
  void abandon() noexcept override {
    try {
      comm_.abort("a reduction was dropped by an exception before it was complete");
      close(false);
    } catch (...) {  // the communicator is given up either way
    }
  }

 private:
  void begin(const std::string& trouble, std::span<const Slice<T>> slices,
             Contribution contribution) {
    active_ = true;
    judged_ = false;
    or_close([&] {
      report_ = {.step = r_.step()};
      trouble_ = trouble;
      flags_span_ = flags_.template take<std::uint32_t>(exec_, 2);
      exec_.for_each(2, kernel::Fill<std::uint32_t>{flags_span_.data(), 0});
      take_on(slices);
      compensate(contribution);
      keep();
      r_.calls_.settle(nullptr, this);  // not before ranks know that they call alike
      pack_kept();
      send();
    });
  }
  /// The slices as pieces of the model; what is wrong with them all ranks are told later.
  void take_on(std::span<const Slice<T>> slices) {
    if (trouble_.empty()) {
      pieces_.clear();
      try {
        r_.state_.keeper.introduce(slices);
        pieces_.take(exec_, r_.state_.keeper.model(), slices);
        r_.open(pieces_.gradient());
      } catch (const PreconditionError& error) {
        trouble_ = without_prefix(error.what());
        pieces_.clear();
        for (const auto& slice : slices) pieces_.expect(r_.state_.keeper.model(), slice.name);
      }
    }
    report_.entries = pieces_.entries();
    report_.dense_bytes = all_reduce_bytes<T>(pieces_.entries(), comm_.rank(), comm_.size());
  }
  void compensate(Contribution contribution) {
    const StageTimer timer(exec_, "pack", report_.seconds.pack);
    r_.template bind<A>();
    pieces_.compensate(exec_, contribution == Contribution::nothing, r_.state_.feedback);
  }
  void keep() {
    const StageTimer timer(exec_, "keep", report_.seconds.keep);
    const SentMeter<C> meter(comm_, report_.bytes_sent);
    const bool stays = !R::takes_parts && r_.calls_.any_beside(*this);  // theirs is the mask
    if (r_.options_.checked || stays || r_.state_.keeper.due(r_.step())) {
      r_.state_.keeper.refresh(exec_, comm_, pieces_.source(), r_.step(),
                               r_.template statements<T>(pieces_.coverage()), trouble_,
                               r_.options_.checked, stays);
    }
    ++r_.agreed_;
    pieces_.lay_out(r_.state_.keeper.model(), trouble_.empty(),
                    [&](std::size_t part) { return r_.state_.keeper.slot(part); });
    path_ = Path::packed;
    masked_ = true;
    if constexpr (chooses_ways<typename R::codec_type>) {
      const CallSize size{pieces_.places(Path::packed), pieces_.size(Path::dense), sizeof(T),
                          r_.state_.keeper.changed()};
      path_ = coded_.take(r_.state_.codec.template choose<R>(*r_.backend_, size, r_.step()));
    }
  }
  /// Packs, and looks for what no rank may pass over; one rank alone may only look.
  void pack_kept() {
    const StageTimer timer(exec_, "pack", report_.seconds.pack);
    local_ = comm_.size() == 1 && !remembers && !is_amplified(r_.policy_) &&
             (path_ != Path::packed || is_in_place<typename R::codec_type>);
    auto* const non_finite = flags_span_.data() + kernel::non_finite_flag;
    auto* const stray = flags_span_.data() + kernel::stray_flag;
    if (!local_) packed_ = packed_buffer_.template take<S>(exec_, travelling() + 1);
    if (!local_ && !trouble_.empty()) {
      exec_.for_each(packed_.size(), kernel::Fill<S>{packed_.data(), S{}});
    }
    if (!trouble_.empty()) exec_.for_each(1, kernel::Fill<std::uint32_t>{non_finite, 1});
    if (!local_) pack_by(path_, packed_, looks() ? non_finite : nullptr);
    pieces_.each([&](const auto&, const auto& source, const auto&, std::size_t) {
      if (local_ && looks()) find_non_finite(exec_, source.values(), non_finite, scratch_);
      if (learned) find_stray(exec_, r_.state_.keeper.mask(), source, stray, scratch_);
    });
  }
  void send() {
    if (local_) return;
    call_ = {pieces_.places(path_),     comm_.size(), r_.random(), {}, &r_.state_.keeper.model(),
             r_.state_.keeper.changed()};
    const bool alone = travelling() == 0;
    const bool flagged = learned || r_.options_.non_finite == NonFinite::propagate || alone;
    on_way([&](auto& way) {
      way.start(exec_, comm_, call_, {mean(), looks(), flagged, remembers},
                packed_.first(travelling()), flags_span_, report_);
    });
    // A flag that travels alone, with no value beside it, is no payload.
    if (alone && !learned) report_.payload_bytes = 0;
  }

  /// What the united flags mean: go on, take another path in this same call, or refuse the step.
  template <class Wait>
  void decide(Wait wait) {
    const bool coded = !local_ && path_ == Path::packed;
    report_.path = local_ ? Path::local : path_;
    report_.kept = coded ? coded_.kept() : pieces_.size(Path::packed);
    report_.quality = r_.state_.keeper.quality();
    if (coded && coded_.quality()) report_.quality = coded_.quality();
    const bool stray = read_flags();
    // The NaN that flags a non-finite value in a float wire hides the strays of other ranks.
    const bool carried = on_way([](auto& way) { return way.carries_non_finite(); });
    if (learned && (stray || (report_.non_finite && carried))) {
      report_.path = Path::dense;
      report_.kept = pieces_.entries();
      masked_ = false;
      if (!local_) send_plain(wait);
      read_flags();
      r_.state_.keeper.restart();
    } else if (report_.non_finite && !local_ && !carried) {
      report_.path = Path::uncoded;
      send_plain(wait);
    }
  }
  bool read_flags() {
    const SentMeter<C> meter(comm_, report_.bytes_sent);
    const UnitedFlags flags = accept(exec_, comm_, flags_span_, r_.state_.keeper.model(),
                                     pieces_.source(), r_.step(), trouble_, r_.options_.non_finite);
    if (flags.non_finite) report_.non_finite = looks();
    return flags.stray;
  }
  /// Values go by the report's path, as they are, in place of what was sent before.
  template <class Wait>
  void send_plain(Wait wait) {
    const std::size_t n = pieces_.size(report_.path);
    const auto values = plain_packed_.template take<S>(exec_, n + 1).first(n);
    pack_by(report_.path, values, nullptr);
    exec_.for_each(2, kernel::Fill<std::uint32_t>{flags_span_.data(), 0});  // all ranks know them
    call_.parts = pieces_.places(report_.path);
    plain_.start(exec_, comm_, call_, {mean(), looks(), false, remembers}, values, flags_span_,
                 report_);
    plain_.advance(exec_, comm_, wait);
  }

  /// The reduced values go into the gradient; what is not kept becomes zero.
  void deliver() {
    const StageTimer timer(exec_, "unpack", report_.seconds.unpack);
    const Path path = local_ ? Path::local : report_.path;
    const auto values = path == Path::packed ? coded_.values() : plain_.values();
    unpack_entries(exec_, r_.state_.keeper, pieces_, path,
                   masked_ && report_.kept != report_.entries, values);
  }
  /// The residual takes in what was not conveyed, and the policy sees what was reduced.
  void commit() {
    const StageTimer timer(exec_, "commit", report_.seconds.commit);
    const auto settle_with = [&](auto& exchange) {
      if constexpr (remembers) {
        remember<drops>(exec_, r_.state_.keeper, pieces_, exchange, report_.path == Path::dense,
                        masked_, r_.state_.feedback, r_.step());
      }
      exchange.commit(exec_, r_.step());
    };
    if (report_.path != Path::packed) settle_with(plain_);
    else if constexpr (chooses_ways<typename R::codec_type>) coded_.visit(settle_with);
    else settle_with(coded_);
    if (path_ == Path::packed && report_.path != Path::packed) coded_.pass_over();
    r_.state_.keeper.observe(exec_, pieces_.gradient(), r_.step());
  }

  void close(bool accepted) override {
    active_ = false;
    r_.close(pieces_.gradient(), accepted);
  }
  /// Calls `f` with what carries the values on the path that the call began with.
  template <class F>
  auto on_way(F f) {
    return path_ == Path::packed ? f(coded_) : f(plain_);
  }
  void pack_by(Path path, std::span<S> packed, std::uint32_t* non_finite) {
    pack_entries(exec_, r_.state_.keeper, pieces_, path, masked_, packed, non_finite, scratch_);
  }
  [[nodiscard]] std::size_t travelling() const { return pieces_.size(path_); }
  [[nodiscard]] bool mean() const { return r_.options_.reduction == Reduction::mean; }
  [[nodiscard]] bool looks() const { return r_.options_.non_finite != NonFinite::ignore; }

  R& r_;
  E& exec_;
  C& comm_;
  Exchange<T, S, E, C, typename R::codec_type> coded_;
  codec_state<Identity, E> no_state_;
  Exchange<T, S, E, C, Identity> plain_;
  CallPieces<T, S, E> pieces_{R::takes_parts};
  CodecCall call_;
  Report report_;
  std::string trouble_;
  Path path_ = Path::packed;  ///< what the call began with
  bool local_ = false, judged_ = false, masked_ = true;
  std::span<std::uint32_t> flags_span_;
  std::span<S> packed_;
  Scratch<E> flags_, packed_buffer_, plain_packed_, scratch_;
};

}  // namespace pactrain

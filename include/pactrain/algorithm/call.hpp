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
        coded_(reducer.codec_, reducer.codec_state_),
        plain_(Identity{}, no_state_) {}
  void start(std::span<const Slice<T>> slices, Contribution contribution) {
    begin({}, slices, contribution);
  }
  void start_troubled(const std::string& trouble, std::span<const std::string> names) override {
    pieces_.clear();
    for (const std::string& name : names) pieces_.expect(r_.keeper_.model(), name);
    begin(trouble, {}, Contribution::nothing);
  }
  bool advance() override { return local_ || !active_ || coded_.poll(exec_, comm_); }
  void settle(const Deadline* given) override {
    if (!active_ || local_ || coded_.started()) return;
    const Deadline deadline = given != nullptr ? *given : usual_deadline(comm_);
    coded_.advance(exec_, comm_, [&](auto& request) {
      if (coded_.started()) return comm_.test(request);
      comm_.finish(request, deadline);
      return true;
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
      if (!local_) coded_.advance(exec_, comm_, wait);
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
      pack_kept();
      send();
    });
  }
  /// The slices as pieces of the model; what is wrong with them all ranks are told later.
  void take_on(std::span<const Slice<T>> slices) {
    if (trouble_.empty()) {
      pieces_.clear();
      try {
        r_.keeper_.introduce(slices);
        pieces_.take(exec_, r_.keeper_.model(), slices);
        r_.open(pieces_.gradient());
      } catch (const PreconditionError& error) {
        trouble_ = without_prefix(error.what());
        pieces_.clear();
        for (const auto& slice : slices) pieces_.expect(r_.keeper_.model(), slice.name);
      }
    }
    report_.entries = pieces_.entries();
    report_.dense_bytes = all_reduce_bytes<T>(pieces_.entries(), comm_.rank(), comm_.size());
  }
  void compensate(Contribution contribution) {
    const StageTimer timer(exec_, "pack", report_.seconds.pack);
    r_.template bind<A>();
    pieces_.compensate(exec_, contribution == Contribution::nothing, r_.feedback_);
  }
  void keep() {
    const StageTimer timer(exec_, "keep", report_.seconds.keep);
    const SentMeter<C> meter(comm_, report_.bytes_sent);
    if (r_.options_.checked || r_.keeper_.due(r_.step())) {
      r_.keeper_.refresh(exec_, comm_, pieces_.source(), r_.step(),
                         r_.template statements<T>(pieces_.coverage()), trouble_,
                         r_.options_.checked);
    }
    ++r_.agreed_;
    pieces_.lay_out(r_.keeper_.model().parts().size(), trouble_.empty(),
                    [&](std::size_t part) { return r_.keeper_.slot(part); });
  }
  /// Packs, and looks for what no rank may pass over; one rank alone may only look.
  void pack_kept() {
    const StageTimer timer(exec_, "pack", report_.seconds.pack);
    local_ = comm_.size() == 1 && is_in_place<typename R::codec_type> && !remembers &&
             !is_amplified(r_.policy_);
    std::uint32_t* const non_finite = flags_span_.data() + kernel::non_finite_flag;
    std::uint32_t* const stray = flags_span_.data() + kernel::stray_flag;
    if (!local_) packed_ = packed_buffer_.template take<S>(exec_, pieces_.packed() + 1);
    if (!local_ && !trouble_.empty()) {
      exec_.for_each(packed_.size(), kernel::Fill<S>{packed_.data(), S{}});
    }
    if (!trouble_.empty()) exec_.for_each(1, kernel::Fill<std::uint32_t>{non_finite, 1});
    pieces_.each([&](const auto&, const auto& source, const auto& place, std::size_t) {
      if (!local_) {
        pack(exec_, r_.keeper_.mask(), source, packed_.data() + place.first,
             r_.keeper_.slot(place.part), looks() ? non_finite : nullptr, scratch_);
      } else if (looks()) {
        find_non_finite(exec_, source.values(), non_finite, scratch_);
      }
      if (learned) find_stray(exec_, r_.keeper_.mask(), source, stray, scratch_);
    });
    amplify(exec_, r_.keeper_.policy(), pieces_.parts(), packed_);
  }
  void send() {
    if (local_) return;
    call_ = {pieces_.parts(),     comm_.size(),        r_.random(), {},
             &r_.keeper_.model(), r_.keeper_.changed()};
    const bool alone = pieces_.packed() == 0;
    const bool flagged = learned || r_.options_.non_finite == NonFinite::propagate || alone;
    coded_.start(exec_, comm_, call_, {mean(), looks(), flagged, remembers},
                 packed_.first(pieces_.packed()), flags_span_, report_);
    // A flag that travels alone, with no value beside it, is no payload.
    if (alone && !learned) report_.payload_bytes = 0;
  }

  /// What the united flags mean: go on, take another path in this same call, or refuse the step.
  template <class Wait>
  void decide(Wait wait) {
    report_.path = local_ ? Path::local : Path::packed;
    report_.kept = local_ ? pieces_.packed() : coded_.kept();
    report_.quality = coded_.quality() ? coded_.quality() : r_.keeper_.quality();
    const bool stray = read_flags();
    // The NaN that flags a non-finite value in a float wire hides the strays of other ranks.
    const bool hidden = report_.non_finite && carries_non_finite;
    if (learned && (stray || hidden)) {
      report_.path = Path::dense;
      report_.kept = pieces_.entries();
      if (!local_) send_plain(Everything{}, wait);
      read_flags();
      r_.keeper_.restart();
    } else if (report_.non_finite && !local_ && !carries_non_finite) {
      report_.path = Path::uncoded;
      send_plain(r_.keeper_.mask(), wait);
    }
  }
  bool read_flags() {
    const SentMeter<C> meter(comm_, report_.bytes_sent);
    const UnitedFlags flags = accept(exec_, comm_, flags_span_, r_.keeper_.model(),
                                     pieces_.source(), r_.step(), trouble_, r_.options_.non_finite);
    if (flags.non_finite) report_.non_finite = looks();
    return flags.stray;
  }
  /// A float wire carries what is not finite; scaled integers do not.
  static constexpr bool carries_non_finite =
      has_float_wire<typename R::codec_type, S> && !has_bounds<typename R::codec_type, E>;

  /// The entries that `set` keeps, as they are, in place of what the codec made of them.
  template <class Set, class Wait>
  void send_plain(const Set& set, Wait wait) {
    constexpr bool all = std::is_same_v<Set, Everything>;
    const std::size_t n = all ? pieces_.entries() : pieces_.packed();
    const auto values = plain_packed_.template take<T>(exec_, n + 1).first(n);
    const auto kept = plain_kept_.template take<S>(exec_, all ? 0 : n);
    pieces_.each([&](const auto&, const auto& source, const auto& place, std::size_t at) {
      if constexpr (all) {
        exec_.for_each(source.size, kernel::Convert<S, T>{source.data, values.data() + at});
      } else {
        pack(exec_, set, source, kept.data() + place.first, r_.keeper_.slot(place.part),
             static_cast<std::uint32_t*>(nullptr), scratch_);
      }
    });
    amplify(exec_, r_.keeper_.policy(), pieces_.parts(), kept);
    if (!all) exec_.for_each(n, kernel::Convert<S, T>{kept.data(), values.data()});
    exec_.for_each(2, kernel::Fill<std::uint32_t>{flags_span_.data(), 0});  // all ranks know them
    plain_.start(exec_, comm_, call_, {mean(), looks(), false, remembers}, values, flags_span_,
                 report_);
    plain_.advance(exec_, comm_, wait);
  }

  /// The reduced values go into the gradient; what is not kept becomes zero.
  void deliver() {
    const StageTimer timer(exec_, "unpack", report_.seconds.unpack);
    const auto values = report_.path == Path::packed ? coded_.values() : plain_.values();
    pieces_.each([&](const auto& piece, const auto& source, const auto& place, std::size_t at) {
      if (local_) {
        if constexpr (std::is_same_v<S, T>) {
          if (source.data != piece.data) exec_.copy(source.values(), piece.values());
        }
        if (report_.path != Path::dense && report_.kept != report_.entries) {
          r_.keeper_.mask().clear(exec_, piece.first, piece.values());
        }
      } else if (report_.path == Path::dense) {
        exec_.copy(as_const_span(values.subspan(at, piece.size)), piece.values());
      } else {
        unpack(exec_, r_.keeper_.mask(), values.data() + place.first, r_.keeper_.slot(place.part),
               piece);
      }
    });
    exec_.fence();
  }

  /// The residual takes in what was not conveyed, and the policy sees what was reduced.
  void commit() {
    const StageTimer timer(exec_, "commit", report_.seconds.commit);
    const auto settle_with = [&](auto& exchange) {
      if constexpr (remembers) {
        remember<drops>(exec_, r_.keeper_, pieces_, exchange, report_.path == Path::dense,
                        r_.feedback_, r_.step());
      }
      exchange.commit(exec_, r_.step());
    };
    if (report_.path == Path::packed) settle_with(coded_);
    else settle_with(plain_);
    if (report_.path != Path::packed) coded_.pass_over();
    r_.keeper_.observe(exec_, pieces_.gradient(), r_.step());
  }

  void close(bool accepted) override {
    active_ = false;
    r_.close(pieces_.gradient(), accepted);
  }
  [[nodiscard]] bool mean() const { return r_.options_.reduction == Reduction::mean; }
  [[nodiscard]] bool looks() const { return r_.options_.non_finite != NonFinite::ignore; }

  R& r_;
  E& exec_;
  C& comm_;
  Exchange<T, S, E, C, typename R::codec_type> coded_;
  codec_state<Identity, E> no_state_;
  Exchange<T, T, E, C, Identity> plain_;
  CallPieces<T, S, E> pieces_{R::takes_parts};
  CodecCall call_;
  Report report_;
  std::string trouble_;
  bool local_ = false, judged_ = false;
  std::span<std::uint32_t> flags_span_;
  std::span<S> packed_;
  Scratch<E> flags_, packed_buffer_, plain_packed_, plain_kept_, scratch_;
};

}  // namespace pactrain

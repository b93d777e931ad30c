// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/everything.hpp>
#include <pactrain/kernel/flags.hpp>
#include <pactrain/kernel/indices.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kernel/streams.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace pactrain {

/// What a call asks of the exchange.
struct ExchangeOptions {
  bool mean = true;       ///< divide by the number of ranks
  bool check = true;      ///< look for infinities and NaNs in the result
  bool flagged = false;   ///< one element more carries the flags of a float wire
  bool remember = false;  ///< what this rank conveyed is wanted
};

/// From packed values of type S to their mean or sum over ranks, of type T, as far as it can go
/// without waiting: a row of collectives with work before, between and after them. A route `X` has
/// `stages()`, the number of its collectives, and `step(exec, comm, i)`: the work that comes before
/// collective `i`, and its start in `request_`; or, where `i` is `stages()`, what makes `values_`
/// of what arrived. Two flags of each rank (a non-finite value, a stray) are united on the way.
template <class X, GradientValue T, GradientValue S, Executor E, class C, class Options>
class ExchangeBase {
 public:
  using A = arithmetic_t<T>;
  using Codec = decltype(as_sent<T>(std::declval<const Options&>()));

  /// `state` is what the codec keeps from step to step.
  ExchangeBase(const Options& options, codec_state<Options, E>& state)
      : codec_(codec_on<E>(as_sent<T>(options), state)) {}

  /// Starts with `packed`, which has room for one element more and stays in use until the end.
  /// `flags` are this rank's; `parts` and both spans must stay where they are.
  void start(E& exec, C& comm, const CodecCall& call, const ExchangeOptions& options,
             std::span<S> packed, std::span<std::uint32_t> flags, Report& report) {
    call_ = call;
    options_ = options;
    packed_ = packed;
    flags_ = flags;
    report_ = &report;
    report.payload_bytes = 0;
    begun_ = 0;
    route().step(exec, comm, begun_);
  }
  /// Goes on as far as it can; `wait(request)` returns false where the request is not done and not
  /// to be waited for. True when all is done: `values()` and the united flags stand. Starts
  /// collectives, so that all ranks must come here at the same point of the program.
  template <class Wait>
  bool advance(E& exec, C& comm, Wait wait) {
    for (; begun_ < route().stages(); route().step(exec, comm, begun_)) {
      if (!counted(exec, comm, [&] { return wait(request_); })) return false;
      ++begun_;
    }
    return true;
  }
  /// Lets the transport make progress and starts nothing: ranks may come here at any time. False
  /// if other ranks are still to be waited for.
  bool poll(E& exec, C& comm) {
    return begun_ >= route().stages() || counted(exec, comm, [&] { return comm.test(request_); });
  }
  /// Has every collective of this exchange been started?
  [[nodiscard]] bool started() const { return begun_ + 1 >= route().stages(); }
  [[nodiscard]] std::span<T> values() const { return values_; }
  /// What this rank's wire means, by itself, in the sum or, where ranks convey something together,
  /// this rank's share of it. Stands when all is done.
  [[nodiscard]] std::span<A> conveyed() const { return conveyed_; }
  /// How many of the packed values the wire conveys: all, unless the codec chooses among them.
  [[nodiscard]] std::size_t kept() const {
    if constexpr (requires { codec_.kept(); }) return codec_.kept();
    else return packed_.size();
  }

  /// What was chosen of the packed values: predicates on their slots, counts by parts.
  [[nodiscard]] auto chosen() const {
    if constexpr (requires { codec_.chosen(); }) return codec_.chosen();
    else return kernel::Always{};
  }
  [[nodiscard]] std::size_t chosen_in(std::size_t part, std::size_t n) const {
    if constexpr (requires { codec_.chosen_in(part); }) return codec_.chosen_in(part);
    else return n;
  }
  /// Does the wire carry what is not finite? Floats do; scaled integers do not.
  [[nodiscard]] static constexpr bool carries_non_finite() {
    return has_float_wire<Options, S> && !has_bounds<Options, E>;
  }
  /// What the codec says of its own estimate, if it makes one.
  [[nodiscard]] std::optional<double> quality() const {
    if constexpr (requires { codec_.quality(); }) return codec_.quality();
    else return {};
  }
  /// The step was accepted.
  void commit(E&, Step) {}
  /// The step was accepted, but its values went another way.
  void pass_over() {}

 protected:
  static constexpr bool is_bounded = has_bounds<Codec, E>;

  [[nodiscard]] std::size_t bounds_count() const {
    if constexpr (is_bounded) return codec_.bounds_count(call_);
    else return 0;
  }
  /// Starts the maximum over ranks of the codec's bounds and of the flags, as floats.
  void start_bounds(E& exec, C& comm) {
    const StageTimer timer(exec, "encode", report_->seconds.encode);
    const std::size_t count = bounds_count();
    const auto bounds = bounds_.template take<float>(exec, count + flags_.size());
    if constexpr (is_bounded) {
      codec_.bounds(exec, call_, as_const_span(packed_), bounds.first(count));
    }
    exec.for_each(flags_.size(),
                  kernel::Convert<std::uint32_t, float>{flags_.data(), bounds.data() + count});
    call_.agreed = as_const_span(bounds.first(count));
    request_ = counted(exec, comm, [&] { return comm.start_all_reduce(exec, bounds, Max{}); });
  }
  /// The bounds stand; the flags, which travelled with them, are all ranks'.
  void take_bounds(E& exec) {
    const float* const flags = bounds_.template view<float>(bounds_count()).data() + bounds_count();
    exec.for_each(flags_.size(), kernel::TakeFlags{flags, flags_.data()});
  }
  /// The flags as they travel, in eight bytes; and those of another rank.
  void put_flags(E& exec, std::uint64_t* word) {
    exec.for_each(flags_.size(), kernel::Convert<std::uint32_t, std::uint32_t>{
                                     flags_.data(), reinterpret_cast<std::uint32_t*>(word)});
  }
  void unite_flags(E& exec, const std::uint64_t* word) {
    exec.for_each(flags_.size(),
                  kernel::UniteFlags{reinterpret_cast<const std::byte*>(word), flags_.data()});
  }
  /// Runs `f`, and counts the bytes that it sent and the seconds that it took.
  template <class F>
  auto counted(E& exec, C& comm, F f) {
    const StageTimer timer(exec, "collective", report_->seconds.collective);
    const SentMeter<C> meter(comm, report_->bytes_sent);
    return f();
  }
  void keep_conveyed(E& exec, std::span<const std::byte> wire) {
    if (!options_.remember) return;
    conveyed_ = conveyed_buffer_.template take<A>(exec, packed_.size());
    exec.for_each(conveyed_.size(), kernel::Fill<A>{conveyed_.data(), A{}});
    codec_.decode_add(exec, call_, wire, conveyed_);
  }
  /// The same for the `chosen` values of the packed ones, which travel in type T.
  void keep_chosen(E& exec, kernel::Indices chosen) {
    if (!options_.remember) return;
    conveyed_ = conveyed_buffer_.template take<A>(exec, packed_.size());
    exec.for_each(conveyed_.size(), kernel::Fill<A>{conveyed_.data(), A{}});
    exec.for_each(chosen.count,
                  kernel::ConveyChosen<S, T, A>{chosen, packed_.data(), conveyed_.data()});
  }
  std::span<A> zeros(E& exec, std::size_t n) {
    auto sum = sum_.template take<A>(exec, n);
    exec.for_each(n, kernel::Fill<A>{sum.data(), A{}});
    return sum;
  }
  void finish_values(E& exec, std::span<A> sum, bool divide) {
    const A divisor = divide ? static_cast<A>(call_.ranks) : A(1);
    if constexpr (std::same_as<A, T>) {
      values_ = sum;
      if (!divide) return;
    } else {
      values_ = values_buffer_.template take<T>(exec, sum.size());
    }
    exec.for_each(sum.size(), kernel::Divide<A, T>{sum.data(), divisor, values_.data()});
  }

  typename Codec::template on<E> codec_;
  CodecCall call_;
  ExchangeOptions options_;
  std::span<S> packed_;
  std::span<std::uint32_t> flags_;
  std::span<T> values_;
  std::span<A> conveyed_;
  Report* report_ = nullptr;
  typename C::request request_;
  Scratch<E> bounds_, wire_, sum_, values_buffer_, conveyed_buffer_, scratch_;

 private:
  [[nodiscard]] X& route() { return static_cast<X&>(*this); }
  [[nodiscard]] const X& route() const { return static_cast<const X&>(*this); }

  int begun_ = 0;  ///< the collective under way, or `stages()`
};

}  // namespace pactrain

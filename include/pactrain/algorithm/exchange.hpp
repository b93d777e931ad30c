// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/pack.hpp>
#include <pactrain/compress/cast.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/flags.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace pactrain {

/// What a call asks of the exchange.
struct ExchangeOptions {
  bool mean = true;       ///< divide by the number of ranks
  bool check = true;      ///< look for infinities and NaNs in the result
  bool flagged = false;   ///< one element more carries the flags of a float wire
  bool remember = false;  ///< what this rank conveyed is wanted
};

/// Encode, collective, decode: from packed values of type S to their mean or sum over ranks, of
/// type T, as far as it can go without waiting. Two flags of each rank (a non-finite value, a
/// stray) are united on the way: beside the codec's bounds, in an element of their own, in the
/// trailer of a gathered wire, or as a NaN in the first element of a float wire.
template <GradientValue T, GradientValue S, Executor E, class C, class Options>
class Exchange {
  using A = arithmetic_t<T>;
  /// Half values that travel as they are come from, and are decoded to, the type of their sums.
  using Codec = std::conditional_t<is_in_place<Options> && !std::same_as<T, A>, Cast<T>, Options>;
  /// Is there a maximum over ranks first? A codec wants it for its bounds; wires of integers want
  /// it for the flags, which they cannot carry.
  static constexpr bool bounded =
      has_bounds<Codec, E> || (Codec::additive && !has_float_wire<Codec, S>);
  static constexpr std::size_t trailer_bytes = 8;  // keeps the next rank's wire aligned

 public:
  explicit Exchange(const Options& options) : codec_(codec_options(options)) {}

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
    if constexpr (bounded) {
      const StageTimer timer(exec, "encode", report.seconds.encode);
      const std::size_t count = bounds_count();
      auto bounds = bounds_.template take<float>(exec, count + flags.size());
      if constexpr (has_bounds<Codec, E>) {
        codec_.bounds(exec, call_, as_const_span(packed), bounds.first(count));
      }
      exec.for_each(flags.size(),
                    kernel::Convert<std::uint32_t, float>{flags.data(), bounds.data() + count});
      call_.agreed = as_const_span(bounds.first(count));
      request_ = counted(exec, comm, [&] { return comm.start_all_reduce(exec, bounds, Max{}); });
      phase_ = Phase::bounds;
    } else {
      send(exec, comm);
    }
  }

  /// Goes on as far as it can; `wait(request)` returns false where the request is not done and not
  /// to be waited for. True when all is done: `values()` and the united flags stand. Starts what
  /// follows the bounds, so that all ranks must come here at the same point of the program.
  template <class Wait>
  bool advance(E& exec, C& comm, Wait wait) {
    if (phase_ == Phase::bounds) {
      if (!waited(exec, comm, wait)) return false;
      if constexpr (bounded) {
        const float* const flags =
            bounds_.template view<float>(bounds_count()).data() + bounds_count();
        exec.for_each(flags_.size(), kernel::Convert<float, std::uint32_t>{flags, flags_.data()});
      }
      send(exec, comm);
    }
    if (phase_ == Phase::wire) {
      if (!waited(exec, comm, wait)) return false;
      const StageTimer timer(exec, "decode", report_->seconds.decode);
      receive(exec, comm);
      phase_ = Phase::idle;
    }
    return true;
  }
  /// Lets the transport make progress and starts nothing: ranks may come here at any time. False
  /// if other ranks are still to be waited for.
  bool poll(E& exec, C& comm) {
    return phase_ == Phase::idle || counted(exec, comm, [&] { return comm.test(request_); });
  }
  /// Has every collective of this exchange been started?
  [[nodiscard]] bool started() const noexcept { return phase_ != Phase::bounds; }
  [[nodiscard]] std::span<T> values() const { return values_; }
  /// What this rank's wire means, by itself. Stands from the last start on.
  [[nodiscard]] std::span<A> conveyed() const { return conveyed_; }

 private:
  enum class Phase { idle, bounds, wire };

  [[nodiscard]] std::size_t bounds_count() const {
    if constexpr (has_bounds<Codec, E>) return codec_.bounds_count(call_);
    else return 0;
  }
  static auto codec_options(const Options& options) {
    if constexpr (std::same_as<Codec, Options>) return options;
    else return Codec{};
  }
  [[nodiscard]] bool in_place() const {
    return is_in_place<Options> && std::same_as<S, T> && !options_.remember;
  }
  /// Runs `f`, and counts the bytes that it sent and the seconds that it took.
  template <class F>
  auto counted(E& exec, C& comm, F f) {
    const StageTimer timer(exec, "collective", report_->seconds.collective);
    const SentMeter<C> meter(comm, report_->bytes_sent);
    return f();
  }
  template <class Wait>
  bool waited(E& exec, C& comm, Wait wait) {
    return counted(exec, comm, [&] { return wait(request_); });
  }

  void send(E& exec, C& comm) {
    phase_ = Phase::wire;
    if constexpr (Codec::additive) {
      with_wire([&]<class W>() { send_additive<W>(exec, comm); });
    } else {
      send_gathered(exec, comm);
    }
  }
  /// Calls `f` with the type of an additive codec's wire elements.
  template <class F>
  void with_wire(F f) {
    const ValueType type = codec_.template wire_type<S>(call_.ranks);
    [&]<class... W>(WireTypes<W...>) {
      (void)((type == value_type<W> && (f.template operator()<W>(), true)) || ...);
    }(typename Codec::template wires<S>{});
  }
  template <class W>
  void send_additive(E& exec, C& comm) {
    const bool flagged = options_.flagged && GradientValue<W>;
    std::span<W> wire;
    {
      const StageTimer timer(exec, "encode", report_->seconds.encode);
      const std::size_t size = packed_.size() + (flagged ? 1 : 0);
      if (in_place()) {
        if constexpr (std::same_as<W, S>) wire = {packed_.data(), size};
      } else {
        wire = wire_.template take<W>(exec, size);
        const auto coded = wire.first(packed_.size());
        codec_.encode(exec, call_, as_const_span(packed_), std::as_writable_bytes(coded));
        keep_conveyed(exec, std::as_bytes(coded));
      }
      if constexpr (GradientValue<W>) {
        if (flagged) {
          exec.for_each(1, kernel::WriteFlags<W>{flags_.data(), wire.data() + packed_.size()});
        } else if (!wire.empty()) {
          exec.for_each(1, kernel::Poison<W>{flags_.data(), wire.data()});
        }
      }
    }
    report_->payload_bytes = wire.size_bytes();
    request_ = counted(exec, comm, [&] {
      if constexpr (GradientValue<W>) {
        if (options_.mean) return comm.start_all_reduce(exec, wire, Mean{});
      }
      return comm.start_all_reduce(exec, wire, Sum{});
    });
  }
  void send_gathered(E& exec, C& comm) {
    const std::size_t size = gathered_bytes();
    const auto ranks = static_cast<std::size_t>(call_.ranks);
    auto wire = wire_.template take<std::byte>(exec, size + trailer_bytes);
    auto all = all_.template take<std::byte>(exec, (size + trailer_bytes) * ranks);
    {
      const StageTimer timer(exec, "encode", report_->seconds.encode);
      codec_.encode(exec, call_, as_const_span(packed_), wire.first(size));
      keep_conveyed(exec, as_const_span(wire.first(size)));
      exec.for_each(flags_.size(),
                    kernel::Convert<std::uint32_t, std::uint32_t>{
                        flags_.data(), reinterpret_cast<std::uint32_t*>(wire.data() + size)});
    }
    counts_.assign(ranks, wire.size());
    report_->payload_bytes = wire.size();
    request_ = counted(exec, comm, [&] {
      return comm.start_all_gather(exec, as_const_span(wire), std::span<const std::size_t>(counts_),
                                   all);
    });
  }
  [[nodiscard]] std::size_t gathered_bytes() const {
    if constexpr (Codec::additive) return 0;
    else
      return (codec_.template wire_bytes<S>(call_) + trailer_bytes - 1) / trailer_bytes *
             trailer_bytes;
  }
  void keep_conveyed(E& exec, std::span<const std::byte> wire) {
    if (!options_.remember) return;
    conveyed_ = conveyed_buffer_.template take<A>(exec, packed_.size());
    exec.for_each(conveyed_.size(), kernel::Fill<A>{conveyed_.data(), A{}});
    codec_.decode_add(exec, call_, wire, conveyed_);
  }

  void receive(E& exec, C&) {
    if constexpr (Codec::additive) {
      with_wire([&]<class W>() { receive_additive<W>(exec); });
    } else {
      receive_gathered(exec);
    }
    // A flag that took the place of the first value is looked for there, whoever may look.
    const std::size_t poisoned = Codec::additive && !bounded && !options_.flagged ? 1 : 0;
    const std::size_t looked_at =
        options_.check ? values_.size() : std::min(values_.size(), poisoned);
    find_non_finite(exec, values_.first(looked_at), flags_.data(), scratch_);
  }
  template <class W>
  void receive_additive(E& exec) {
    const std::size_t n = packed_.size();
    const W* wire = nullptr;
    if (in_place()) {
      if constexpr (std::same_as<W, S> && std::same_as<S, T>) {
        values_ = packed_;
        wire = packed_.data();
      }
    } else {
      wire = wire_.template view<W>(n).data();
      auto sum = zeros(exec, n);
      codec_.decode_add(exec, call_, std::as_bytes(std::span<const W>(wire, n)), sum);
      const bool divide = options_.mean && !GradientValue<W>;
      finish_values(exec, sum, divide);
    }
    if constexpr (GradientValue<W>) {
      if (options_.flagged) exec.for_each(1, kernel::ReadFlags<W>{wire + n, flags_.data()});
    }
  }
  void receive_gathered(E& exec) {
    const std::size_t size = gathered_bytes(), step = size + trailer_bytes;
    const auto ranks = static_cast<std::size_t>(call_.ranks);
    const auto all = as_const_span(all_.template view<std::byte>(step * ranks));
    auto sum = zeros(exec, packed_.size());
    for (std::size_t rank = 0; rank < ranks; ++rank) {  // rank order: the same sum everywhere
      if constexpr (!Codec::additive) {
        codec_.decode_add(exec, call_, all.subspan(rank * step, size), sum);
      }
    }
    exec.for_each(flags_.size(), kernel::UniteFlags{all.data() + size, step, ranks, flags_.data()});
    finish_values(exec, sum, options_.mean);
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
  Phase phase_ = Phase::idle;
  CodecCall call_;
  ExchangeOptions options_;
  std::span<S> packed_;
  std::span<std::uint32_t> flags_;
  std::span<T> values_;
  std::span<A> conveyed_;
  Report* report_ = nullptr;
  typename C::request request_;
  std::vector<std::size_t> counts_;
  Scratch<E> bounds_, wire_, all_, sum_, values_buffer_, conveyed_buffer_, scratch_;
};

}  // namespace pactrain

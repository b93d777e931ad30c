// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/memory_space.hpp>
#include <pactrain/core/value_type.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pactrain {

namespace detail {

enum class ReduceOp : std::uint8_t { sum, mean, max };
template <class Op>
inline constexpr ReduceOp reduce_op = std::same_as<Op, Sum>    ? ReduceOp::sum
                                      : std::same_as<Op, Mean> ? ReduceOp::mean
                                                               : ReduceOp::max;

/// What a transport does with values whose type is a number; a collective under way is one too.
template <Executor E>
class Transport {
 public:
  using Counts = std::span<const std::size_t>;

  virtual ~Transport() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual std::uint64_t bytes_sent() const = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds timeout() const = 0;
  virtual std::size_t all_reduce(E& exec, ValueType type, std::span<std::byte> x, ReduceOp op) = 0;
  virtual std::size_t reduce_scatter(E& exec, ValueType type, std::span<const std::byte> in,
                                     std::span<std::byte> out, ReduceOp op) = 0;
  virtual std::size_t broadcast(E& exec, std::span<std::byte> x, int root) = 0;
  virtual std::size_t all_gather(E& exec, std::span<const std::byte> mine, Counts counts,
                                 std::span<std::byte> all) = 0;
  virtual std::size_t all_to_all(E& exec, std::span<const std::byte> send, Counts send_counts,
                                 std::span<std::byte> recv, Counts recv_counts) = 0;
  virtual bool test(std::size_t request) = 0;
  virtual void finish(std::size_t request, Deadline deadline) = 0;
  virtual void abort(const std::string& why) = 0;
  virtual void set_timeout(std::chrono::nanoseconds timeout) = 0;
};

template <Executor E, Communicator<E> C>
class TransportOf final : public Transport<E> {
  using typename Transport<E>::Counts;

 public:
  explicit TransportOf(C comm) : comm_(std::move(comm)) {}

  [[nodiscard]] int rank() const override { return comm_.rank(); }
  [[nodiscard]] int size() const override { return comm_.size(); }
  [[nodiscard]] std::uint64_t bytes_sent() const override { return comm_.bytes_sent(); }
  [[nodiscard]] std::chrono::nanoseconds timeout() const override { return comm_.timeout(); }
  std::size_t all_reduce(E& exec, ValueType type, std::span<std::byte> x, ReduceOp op) override {
    return with(type, op, [&]<class T>(auto how) {
      return keep(comm_.start_all_reduce(exec, as<T>(x), how));
    });
  }
  std::size_t reduce_scatter(E& exec, ValueType type, std::span<const std::byte> in,
                             std::span<std::byte> out, ReduceOp op) override {
    return with(type, op, [&]<class T>(auto how) {
      return keep(comm_.start_reduce_scatter(exec, as<const T>(in), as<T>(out), how));
    });
  }
  std::size_t broadcast(E& exec, std::span<std::byte> x, int root) override {
    return keep(comm_.start_broadcast(exec, x, root));
  }
  std::size_t all_gather(E& exec, std::span<const std::byte> mine, Counts counts,
                         std::span<std::byte> all) override {
    return keep(comm_.start_all_gather(exec, mine, counts, all));
  }
  std::size_t all_to_all(E& exec, std::span<const std::byte> send, Counts send_counts,
                         std::span<std::byte> recv, Counts recv_counts) override {
    return keep(comm_.start_all_to_all(exec, send, send_counts, recv, recv_counts));
  }
  bool test(std::size_t request) override {
    const bool done = comm_.test(requests_[request]);
    if (done) drop(request);
    return done;
  }
  void finish(std::size_t request, Deadline deadline) override {
    comm_.finish(requests_[request], deadline);
    drop(request);
  }
  void abort(const std::string& why) override { comm_.abort(why); }
  void set_timeout(std::chrono::nanoseconds timeout) override { comm_.set_timeout(timeout); }

 private:
  template <class T, class Bytes>
  static std::span<T> as(Bytes bytes) {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// f.operator()<T>(op): sums and maxima of all values that codecs add, means of gradients.
  template <class F>
  std::size_t with(ValueType type, ReduceOp op, F f) {
    std::size_t request = 0;
    const auto matched = [&]<class T>() {
      if (type != value_type<T>) return false;
      if constexpr (GradientValue<T>) {
        if (op == ReduceOp::mean) return request = f.template operator()<T>(Mean{}), true;
      }
      request =
          op == ReduceOp::max ? f.template operator()<T>(Max{}) : f.template operator()<T>(Sum{});
      return true;
    };
    [&]<class... T>(Types<T...>) {
      static_cast<void>((matched.template operator()<T>() || ...));
    }(Types<float, double, float16, bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
            std::uint32_t, std::uint64_t>{});
    return request;
  }
  template <class... T>
  struct Types {};

  std::size_t keep(typename C::request request) {
    if (idle_.empty()) {
      requests_.push_back(std::move(request));
      idle_.reserve(requests_.size());
      return requests_.size() - 1;
    }
    const std::size_t place = idle_.back();
    idle_.pop_back();
    requests_[place] = std::move(request);
    return place;
  }
  void drop(std::size_t request) { idle_.push_back(request); }

  C comm_;
  std::vector<typename C::request> requests_;
  std::vector<std::size_t> idle_;
};

}  // namespace detail

/// A communicator whose transport is chosen at run time: threads or MPI by a flag of a program, and
/// the pipeline compiled once for both. Everything is the transport's: order of sums, deadlines,
/// errors, bytes counted; a call costs one virtual call more. Sizes that ranks have in common are
/// compared in bytes. Move-only.
template <Executor E>
class AnyCommunicator {
 public:
  template <MemorySpace S>
  static constexpr bool reaches = std::same_as<S, typename E::memory_space>;

  /// A started collective. Must be finished, or the communicator aborted, before it is dropped.
  class request {
   public:
    request() = default;
    request(request&& other) noexcept { *this = std::move(other); }
    request& operator=(request&& other) noexcept {
      place_ = other.place_;
      open_ = std::exchange(other.open_, false);
      return *this;
    }

   private:
    friend class AnyCommunicator;
    explicit request(std::size_t place) : place_(place), open_(true) {}
    std::size_t place_ = 0;
    bool open_ = false;
  };

  /// Takes over `comm`, which reaches the memory of `E`.
  template <Communicator<E> C>
    requires(!std::same_as<C, AnyCommunicator>)
  explicit AnyCommunicator(C comm)
      : transport_(std::make_unique<detail::TransportOf<E, C>>(std::move(comm))) {}

  [[nodiscard]] int rank() const { return transport_->rank(); }
  [[nodiscard]] int size() const { return transport_->size(); }
  [[nodiscard]] std::uint64_t bytes_sent() const { return transport_->bytes_sent(); }
  [[nodiscard]] std::chrono::nanoseconds timeout() const { return transport_->timeout(); }

  template <ReducibleValue T, class Op>
    requires(GradientValue<T> || !std::same_as<Op, Mean>)
  [[nodiscard]] request start_all_reduce(E& exec, std::span<T> x, Op) {
    return request(transport_->all_reduce(exec, value_type<T>, std::as_writable_bytes(x),
                                          detail::reduce_op<Op>));
  }
  template <ReducibleValue T, class Op>
    requires(GradientValue<T> || !std::same_as<Op, Mean>)
  [[nodiscard]] request start_reduce_scatter(E& exec, std::span<const T> in, std::span<T> out, Op) {
    return request(transport_->reduce_scatter(exec, value_type<T>, std::as_bytes(in),
                                              std::as_writable_bytes(out), detail::reduce_op<Op>));
  }
  template <class T>
  [[nodiscard]] request start_broadcast(E& exec, std::span<T> x, int root) {
    return request(transport_->broadcast(exec, std::as_writable_bytes(x), root));
  }
  template <class T>
  [[nodiscard]] request start_all_gather(E& exec, std::span<const T> mine,
                                         std::span<const std::size_t> counts, std::span<T> all) {
    return request(transport_->all_gather(
        exec, std::as_bytes(mine), in_bytes<T>(counts, send_counts_), std::as_writable_bytes(all)));
  }
  template <class T>
  [[nodiscard]] request start_all_to_all(E& exec, std::span<const T> send,
                                         std::span<const std::size_t> send_counts,
                                         std::span<T> recv,
                                         std::span<const std::size_t> recv_counts) {
    return request(transport_->all_to_all(
        exec, std::as_bytes(send), in_bytes<T>(send_counts, send_counts_),
        std::as_writable_bytes(recv), in_bytes<T>(recv_counts, recv_counts_)));
  }
  bool test(request& started) {
    if (started.open_) started.open_ = !transport_->test(started.place_);
    return !started.open_;
  }
  void finish(request& started, Deadline deadline) {
    if (started.open_) transport_->finish(started.place_, deadline);
    started.open_ = false;
  }
  void abort(const std::string& why) { transport_->abort(why); }
  void set_timeout(std::chrono::nanoseconds timeout) { transport_->set_timeout(timeout); }

 private:
  template <class T>
  static std::span<const std::size_t> in_bytes(std::span<const std::size_t> counts,
                                               std::vector<std::size_t>& bytes) {
    bytes.assign(counts.begin(), counts.end());
    for (std::size_t& count : bytes) count *= sizeof(T);
    return bytes;
  }

  std::unique_ptr<detail::Transport<E>> transport_;
  std::vector<std::size_t> send_counts_, recv_counts_;
};

}  // namespace pactrain

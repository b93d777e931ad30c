// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/memory_space.hpp>
#include <pactrain/host/executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pactrain {

/// Lets a communicator that reaches host memory serve executors whose memory it does not reach:
/// what is sent is read to the host when an operation starts, which waits for the executor's queue;
/// what arrived is written back in `finish` and `test`. Staging is kept: equal calls allocate once.
///
/// The executor of an operation must outlive it. Sums, orders, errors and bytes are `C`'s. `Host`
/// is an executor whose buffers are the staging: pinned memory for what copies faster from there.
template <class C, Executor Host = HostExecutor>
class HostStaged {
  static_assert(Communicator<C, Host>,
                "pactrain: HostStaged wraps a communicator that reaches host memory");

  /// Host memory of an operation: what goes in, and what comes out where that is another vector.
  struct Staging {
    Scratch<Host> in, out;
    bool idle = true;
  };

 public:
  template <MemorySpace S>
  static constexpr bool reaches = true;

  /// A started collective. One that is dropped unfinished keeps its staging until the communicator
  /// goes.
  class request {
   public:
    request() = default;
    request(request&& other) noexcept { *this = std::move(other); }
    request& operator=(request&& other) noexcept {
      inner_ = std::move(other.inner_);
      staging_ = std::exchange(other.staging_, nullptr);
      exec_ = other.exec_;
      write_ = other.write_;
      result_ = other.result_;
      out_ = other.out_;
      return *this;
    }

   private:
    friend class HostStaged;
    typename C::request inner_;
    Staging* staging_ = nullptr;  ///< null when finished
    void* exec_ = nullptr;
    void (*write_)(void* exec, std::span<const std::byte> from, void* to) = nullptr;
    std::span<const std::byte> result_;
    void* out_ = nullptr;  ///< in the executor's memory
  };

  explicit HostStaged(C comm) : comm_(std::move(comm)) {}

  [[nodiscard]] int rank() const noexcept { return comm_.rank(); }
  [[nodiscard]] int size() const noexcept { return comm_.size(); }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return comm_.bytes_sent(); }
  [[nodiscard]] std::chrono::nanoseconds timeout() const noexcept { return comm_.timeout(); }
  void set_timeout(std::chrono::nanoseconds timeout) { comm_.set_timeout(timeout); }

  template <Executor E, ReducibleValue T, class Op>
  [[nodiscard]] request start_all_reduce(E& exec, std::span<T> x, Op op) {
    Staging& staging = idle_staging();
    const std::span<T> values = read(exec, staging, as_const_span(x));
    return started(exec, staging, comm_.start_all_reduce(host_, values, op), values, x);
  }

  template <Executor E, class T>
  [[nodiscard]] request start_broadcast(E& exec, std::span<T> x, int root) {
    Staging& staging = idle_staging();
    const bool mine = rank() == root;
    const std::span<T> values =
        mine ? read(exec, staging, as_const_span(x)) : staging.in.template take<T>(host_, x.size());
    auto inner = comm_.start_broadcast(host_, values, root);
    return started(exec, staging, std::move(inner), mine ? values.first(0) : values, x);
  }

  template <Executor E, class T>
  [[nodiscard]] request start_all_gather(E& exec, std::span<const T> mine,
                                         std::span<const std::size_t> counts, std::span<T> all) {
    Staging& staging = idle_staging();
    const std::span<const T> from = read(exec, staging, mine);
    const std::span<T> to = staging.out.template take<T>(host_, all.size());
    return started(exec, staging, comm_.start_all_gather(host_, from, counts, to), to, all);
  }

  template <Executor E, ReducibleValue T, class Op>
  [[nodiscard]] request start_reduce_scatter(E& exec, std::span<const T> in, std::span<T> out,
                                             Op op) {
    Staging& staging = idle_staging();
    const std::span<const T> from = read(exec, staging, in);
    const std::span<T> to = staging.out.template take<T>(host_, out.size());
    return started(exec, staging, comm_.start_reduce_scatter(host_, from, to, op), to, out);
  }

  template <Executor E, class T>
  [[nodiscard]] request start_all_to_all(E& exec, std::span<const T> send,
                                         std::span<const std::size_t> send_counts,
                                         std::span<T> recv,
                                         std::span<const std::size_t> recv_counts) {
    Staging& staging = idle_staging();
    const std::span<const T> from = read(exec, staging, send);
    const std::span<T> to = staging.out.template take<T>(host_, recv.size());
    auto inner = comm_.start_all_to_all(host_, from, send_counts, to, recv_counts);
    return started(exec, staging, std::move(inner), to, recv);
  }

  bool test(request& pending) {
    if (!comm_.test(pending.inner_)) return false;
    deliver(pending);
    return true;
  }
  void finish(request& pending, Deadline deadline) {
    comm_.finish(pending.inner_, deadline);
    deliver(pending);
  }
  void abort(const std::string& why) { comm_.abort(why); }

 private:
  Staging& idle_staging() {
    for (const auto& staging : stagings_) {
      if (staging->idle) return *staging;
    }
    return *stagings_.emplace_back(std::make_unique<Staging>());
  }
  template <class E, class T>
  std::span<T> read(E& exec, Staging& staging, std::span<const T> from) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::span<T> to = staging.in.template take<T>(host_, from.size());
    exec.read(from, to);
    return to;
  }
  template <class E, class T>
  request started(E& exec, Staging& staging, typename C::request inner, std::span<T> result,
                  std::span<T> out) {
    staging.idle = false;
    request pending;
    pending.inner_ = std::move(inner);
    pending.staging_ = &staging;
    pending.exec_ = &exec;
    pending.result_ = std::as_bytes(result);
    pending.out_ = out.data();
    pending.write_ = [](void* on, std::span<const std::byte> bytes, void* to) {
      const std::span<const T> from(reinterpret_cast<const T*>(bytes.data()),
                                    bytes.size() / sizeof(T));
      static_cast<E*>(on)->write(from, std::span<T>(static_cast<T*>(to), from.size()));
    };
    return pending;
  }
  void deliver(request& pending) {
    if (pending.staging_ == nullptr) return;
    if (!pending.result_.empty()) pending.write_(pending.exec_, pending.result_, pending.out_);
    std::exchange(pending.staging_, nullptr)->idle = true;
  }

  C comm_;
  Host host_;
  std::vector<std::unique_ptr<Staging>> stagings_;
};

}  // namespace pactrain

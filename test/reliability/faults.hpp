// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/any_communicator.hpp>
#include <pactrain/core/backend.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/host/executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Ranks that fail at a place that was drawn, on any transport.
namespace pactrain::test {

/// How far a rank has come: in which job, in which stage of its pipeline, and in which collective.
struct Place {
  std::string job, stage, operation, moment;
  Step step = 0;

  [[nodiscard]] std::string name() const {
    return job + " " + (stage.empty() ? "between" : stage) + " " +
           (operation.empty() ? "none" : operation) + " " + moment;
  }
};

/// What a rank does where. Places are counted; their order is the same in every run.
class FaultPlan {
 public:
  using Fault = std::function<void(const Place&)>;

  /// At the place number `target` this rank does `fault`.
  void arm(std::size_t target, Fault fault) {
    target_ = target;
    fault_ = std::move(fault);
  }
  /// Notes all places.
  void record(std::vector<Place>& places) { places_ = &places; }

  void enter(const std::string& job, Step step) {
    job_ = job;
    step_ = step;
  }
  void begin_stage(const char* name) {
    stages_.push_back(name);
    reach("", "begun");
  }
  void end_stage() { stages_.pop_back(); }
  void reach(const char* operation, const char* moment) {
    if (places_ == nullptr && !fault_) return;
    const Place place{job_, stages_.empty() ? "" : stages_.back(), operation, moment, step_};
    if (places_ != nullptr) places_->push_back(place);
    if (fault_ && reached_++ == target_) fault_(place);
  }

 private:
  std::size_t reached_ = 0, target_ = 0;
  Fault fault_;
  std::vector<Place>* places_ = nullptr;
  std::string job_;
  Step step_ = 0;
  std::vector<const char*> stages_;
};

/// Tells its plan of stages.
class FaultyExecutor : public HostExecutor {
 public:
  explicit FaultyExecutor(FaultPlan& plan) : plan_(&plan) {}
  void begin_stage(const char* name) { plan_->begin_stage(name); }
  void end_stage() { plan_->end_stage(); }

 private:
  FaultPlan* plan_;
};

/// Tells its plan of collectives: before one starts, when it is under way, while it is waited for,
/// when its result is there.
class FaultyCommunicator {
  using E = FaultyExecutor;
  using Inner = AnyCommunicator<E>;
  using Counts = std::span<const std::size_t>;

 public:
  template <MemorySpace S>
  static constexpr bool reaches = Inner::reaches<S>;
  struct request {
    typename Inner::request inner;
    const char* operation = "";
  };

  FaultyCommunicator(Inner inner, FaultPlan& plan) : inner_(std::move(inner)), plan_(&plan) {}

  [[nodiscard]] int rank() const { return inner_.rank(); }
  [[nodiscard]] int size() const { return inner_.size(); }
  [[nodiscard]] std::uint64_t bytes_sent() const { return inner_.bytes_sent(); }
  [[nodiscard]] std::chrono::nanoseconds timeout() const { return inner_.timeout(); }
  void set_timeout(std::chrono::nanoseconds timeout) { inner_.set_timeout(timeout); }

  template <ReducibleValue T, class Op>
    requires(GradientValue<T> || !std::same_as<Op, Mean>)
  [[nodiscard]] request start_all_reduce(E& exec, std::span<T> x, Op op) {
    return started("all_reduce", [&] { return inner_.start_all_reduce(exec, x, op); });
  }
  template <ReducibleValue T, class Op>
    requires(GradientValue<T> || !std::same_as<Op, Mean>)
  [[nodiscard]] request start_reduce_scatter(E& exec, std::span<const T> in, std::span<T> out,
                                             Op op) {
    return started("reduce_scatter",
                   [&] { return inner_.start_reduce_scatter(exec, in, out, op); });
  }
  template <class T>
  [[nodiscard]] request start_broadcast(E& exec, std::span<T> x, int root) {
    return started("broadcast", [&] { return inner_.start_broadcast(exec, x, root); });
  }
  template <class T>
  [[nodiscard]] request start_all_gather(E& exec, std::span<const T> mine, Counts counts,
                                         std::span<T> all) {
    return started("all_gather", [&] { return inner_.start_all_gather(exec, mine, counts, all); });
  }
  template <class T>
  [[nodiscard]] request start_all_to_all(E& exec, std::span<const T> send, Counts send_counts,
                                         std::span<T> recv, Counts recv_counts) {
    return started("all_to_all", [&] {
      return inner_.start_all_to_all(exec, send, send_counts, recv, recv_counts);
    });
  }
  bool test(request& started) { return inner_.test(started.inner); }
  void finish(request& started, Deadline deadline) {
    inner_.test(started.inner);
    plan_->reach(started.operation, "waiting");
    inner_.finish(started.inner, deadline);
    plan_->reach(started.operation, "done");
  }
  void abort(const std::string& why) { inner_.abort(why); }

 private:
  template <class Start>
  request started(const char* operation, Start start) {
    plan_->reach(operation, "before");
    request begun{start(), operation};
    plan_->reach(operation, "started");
    return begun;
  }

  Inner inner_;
  FaultPlan* plan_;
};

using FaultyBackend = BackendPair<FaultyExecutor, FaultyCommunicator>;

/// A backend over `comm` whose rank does as `plan` says.
template <Communicator<FaultyExecutor> C>
FaultyBackend faulty(C comm, FaultPlan& plan) {
  return {FaultyExecutor(plan),
          FaultyCommunicator(AnyCommunicator<FaultyExecutor>(std::move(comm)), plan)};
}

}  // namespace pactrain::test

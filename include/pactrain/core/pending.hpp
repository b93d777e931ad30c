// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/report.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

namespace pactrain {

/// A started reduction as `Pending` sees it.
class PendingCall : public std::enable_shared_from_this<PendingCall> {
 public:
  /// Lets the transport make progress; false while other ranks are to be waited for.
  virtual bool advance() = 0;
  /// Waits until what all ranks sent is here and judged; throws, with everything as it was, where
  /// the step is refused.
  virtual void judge(const Deadline* deadline) = 0;
  /// Judges if need be, writes the gradient and commits.
  virtual Report complete(const Deadline* deadline) = 0;
  /// Ends a call that was judged as if it had been refused.
  virtual void cancel() = 0;
  /// The call will not be completed, and no later one: the communicator is given up.
  virtual void abandon() noexcept = 0;
  /// Is its reducer gone?
  [[nodiscard]] bool lost() const noexcept { return lost_; }

 protected:
  ~PendingCall() = default;
  bool lost_ = false;
};

/// A reduction under way. The gradient must stay where it is and untouched until `wait` or `report`
/// has returned; both are collective, in the same order on all ranks. A `Pending` that is dropped
/// waits; one that is dropped by an exception gives the communicator up. The reducer outlives it:
/// one that ends before its calls gives the communicator up, and to wait for them throws
/// `PreconditionError`. The backend outlives both.
class Pending {
 public:
  /// Nothing under way.
  Pending() = default;
  /// A call of step `step`, which failed waits name.
  Pending(PendingCall& call, Step step)
      : call_(call.shared_from_this()), step_(step), exceptions_(std::uncaught_exceptions()) {}
  Pending(Pending&& other) noexcept
      : call_(std::exchange(other.call_, nullptr)),
        step_(other.step_),
        exceptions_(other.exceptions_),
        failure_(std::exchange(other.failure_, nullptr)),
        report_(other.report_) {}
  Pending& operator=(Pending&& other) noexcept {
    std::swap(call_, other.call_);
    std::swap(step_, other.step_);
    std::swap(exceptions_, other.exceptions_);
    std::swap(failure_, other.failure_);
    std::swap(report_, other.report_);
    return *this;
  }
  ~Pending() {
    if (call_ == nullptr || call_->lost()) return;
    if (std::uncaught_exceptions() > exceptions_) {
      call_->abandon();
      return;
    }
    try {
      wait();
    } catch (...) {  // a destructor does not throw; the gradient is as it was
    }
  }

  /// Makes progress without waiting. False while other ranks are to be waited for; once true, there
  /// is nothing left to do before `wait` (which, for a codec that agrees on bounds first, starts
  /// the values' own collective if no later `start` has: ranks start collectives in the same order,
  /// and come here when they like).
  bool advance() {
    bool done = true;
    if (call_ != nullptr && !call_->lost()) keep([&] { done = call_->advance(); });
    return done;
  }

  /// Waits until the gradient is reduced, for as long as the communicator usually does.
  void wait() { complete(nullptr); }
  /// Waits for at most `timeout` for this call's collectives. (`start` may have waited before that
  /// for ranks to agree, as the communicator usually does: `set_timeout` bounds both.)
  void wait(std::chrono::nanoseconds timeout) {
    const Deadline deadline = deadline_in(timeout);
    complete(&deadline);
  }
  /// Waits as `wait` does, and throws what `wait` would, but leaves the gradient for `wait` to
  /// write, or for `cancel` to leave alone: so that several calls are accepted together or not at
  /// all.
  void check() {
    if (failure_) std::rethrow_exception(failure_);
    if (call_ != nullptr) keep([&] { held().judge(nullptr); });
  }
  /// Ends the call, once checked, as if it had been refused: gradient, residual, mask and step are
  /// as before `start`. All ranks cancel the same calls.
  void cancel() {
    const auto call = std::exchange(call_, nullptr);
    if (call != nullptr && !call->lost()) call->cancel();
  }
  /// What happened; waits if need be.
  [[nodiscard]] const Report& report() {
    wait();
    return report_;
  }

 private:
  void complete(const Deadline* deadline) {
    if (failure_) std::rethrow_exception(failure_);
    if (call_ == nullptr) return;
    keep([&] { report_ = held().complete(deadline); });
    call_ = nullptr;
  }
  [[nodiscard]] PendingCall& held() const {
    expects(
        !call_->lost(),
        "the reducer of this call ended before the call did (the gradient is as it was, and the "
        "communicator is given up); let reducers live longer than their calls");
    return *call_;
  }
  /// What is thrown here is thrown again by whoever asks later.
  template <class F>
  void keep(F f) {
    try {
      in_step(step_, f, [&] {
        if (!call_->lost()) call_->abandon();
      });
    } catch (...) {
      call_ = nullptr;
      failure_ = std::current_exception();
      throw;
    }
  }

  std::shared_ptr<PendingCall> call_;
  Step step_ = 0;
  int exceptions_ = 0;
  std::exception_ptr failure_;
  Report report_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/report.hpp>

#include <chrono>
#include <exception>
#include <utility>

namespace pactrain {

/// A started reduction as `Pending` sees it.
class PendingCall {
 public:
  /// Makes what progress can be made; true when `complete` will not wait for other ranks.
  virtual bool advance() = 0;
  /// Waits until what all ranks sent is here and judged; throws, with everything as it was, where
  /// the step is refused.
  virtual void judge(const Deadline* deadline) = 0;
  /// Judges if need be, writes the gradient and commits.
  virtual Report complete(const Deadline* deadline) = 0;
  /// Ends a call that was judged as if it had been refused.
  virtual void cancel() = 0;
  /// The call will not be completed.
  virtual void abandon() noexcept = 0;

 protected:
  ~PendingCall() = default;
};

/// A reduction under way. The gradient must stay where it is and untouched until `wait` or `report`
/// has returned; both are collective, in the same order on all ranks. A `Pending` that is dropped
/// waits; one that is dropped by an exception gives the communicator up.
class Pending {
 public:
  /// Nothing under way.
  Pending() = default;
  explicit Pending(PendingCall& call) : call_(&call), exceptions_(std::uncaught_exceptions()) {}
  Pending(Pending&& other) noexcept
      : call_(std::exchange(other.call_, nullptr)),
        exceptions_(other.exceptions_),
        report_(other.report_) {}
  Pending& operator=(Pending&& other) noexcept {
    std::swap(call_, other.call_);
    std::swap(exceptions_, other.exceptions_);
    std::swap(report_, other.report_);
    return *this;
  }
  ~Pending() {
    if (call_ == nullptr) return;
    if (std::uncaught_exceptions() > exceptions_) {
      call_->abandon();
      return;
    }
    try {
      wait();
    } catch (...) {  // a destructor does not throw; the gradient is as it was
    }
  }

  /// Makes progress without waiting; true when `wait` will not have to wait for other ranks.
  bool advance() { return call_ == nullptr || call_->advance(); }

  /// Waits until the gradient is reduced, for as long as the communicator usually does.
  void wait() { complete(nullptr); }
  /// Waits for at most `timeout`.
  void wait(std::chrono::nanoseconds timeout) {
    const Deadline deadline =
        std::chrono::steady_clock::now() +
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(timeout);
    complete(&deadline);
  }
  /// Waits as `wait` does, and throws what `wait` would, but leaves the gradient for `wait` to
  /// write, or for `cancel` to leave alone: so that several calls are accepted together or not at
  /// all.
  void check() {
    if (call_ == nullptr) return;
    try {
      call_->judge(nullptr);
    } catch (...) {
      call_ = nullptr;
      throw;
    }
  }
  /// Ends the call, once checked, as if it had been refused: gradient, residual, mask and step are
  /// as before `start`. All ranks cancel the same calls.
  void cancel() {
    if (call_ != nullptr) std::exchange(call_, nullptr)->cancel();
  }
  /// What happened; waits if need be.
  [[nodiscard]] const Report& report() {
    wait();
    return report_;
  }

 private:
  void complete(const Deadline* deadline) {
    if (call_ == nullptr) return;
    report_ = std::exchange(call_, nullptr)->complete(deadline);
  }

  PendingCall* call_ = nullptr;
  int exceptions_ = 0;
  Report report_;
};

}  // namespace pactrain

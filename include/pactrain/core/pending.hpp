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
  /// Waits, writes the gradient and commits; throws with everything as it was.
  virtual Report complete(const Deadline* deadline) = 0;
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

  PendingCall* call_;
  int exceptions_;
  Report report_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/pending.hpp>

#include <span>
#include <string>

namespace pactrain {

/// What a reducer does with its calls, whatever their value type.
class CallBase : public PendingCall {
 public:
  virtual ~CallBase() = default;
  /// Takes part in the other ranks' call, of the parts `names` or of all, with nothing but the news
  /// that this rank's is wrong.
  virtual void start_troubled(const std::string& trouble, std::span<const std::string> names) = 0;
  /// Makes sure that every collective that the start of this call implies has been started.
  virtual void settle(const Deadline* deadline) = 0;
  /// The reducer ends: a call under way is given up, and whoever waits for it is told.
  void orphan() noexcept {
    if (active_) abandon();
    lost_ = true;
  }
  /// Has it been started and not ended?
  [[nodiscard]] bool active() const noexcept { return active_; }

 protected:
  /// The call is over: its parts may be started again, and count for the step if it was accepted.
  virtual void close(bool accepted) = 0;
  /// Does a part of the call, which ends where that throws.
  template <class F>
  void or_close(F part) {
    try {
      part();
    } catch (...) {
      close(false);
      throw;
    }
  }

  bool active_ = false;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/call.hpp>
#include <pactrain/algorithm/call_base.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/pending.hpp>
#include <pactrain/core/value_type.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace pactrain {

/// The calls of a reducer `R`. Each keeps its scratch memory, and is used again when it is idle.
template <class R>
class CallList {
 public:
  CallList() = default;
  CallList(const CallList&) = delete;
  CallList& operator=(const CallList&) = delete;
  ~CallList() { clear(); }

  /// Brings every call under way past its bounds, and starts what follows them; not `but`, which
  /// has sent nothing yet.
  void settle(const Deadline* deadline, const CallBase* but = nullptr) {
    for (auto& call : calls_) {
      if (call.get() != but) call->settle(deadline);
    }
  }
  /// Is a call other than this one under way?
  [[nodiscard]] bool any_beside(const CallBase& one) const {
    return std::ranges::any_of(
        calls_, [&](const auto& call) { return call.get() != &one && call->active(); });
  }
  [[nodiscard]] bool any_active() const {
    return std::ranges::any_of(calls_, &CallBase::active, &std::shared_ptr<CallBase>::get);
  }
  /// Throws `PreconditionError` while a call is under way; `what` comes after it.
  void expect_none(const char* what) const {
    expects(!any_active(),
            [&] { return std::string("a call is under way; wait for it before ") + what; });
  }
  /// A call for gradients of type T.
  template <GradientValue T>
  Call<R, T>& idle(R& reducer) {
    for (auto& call : calls_) {
      if (auto* idle = dynamic_cast<Call<R, T>*>(call.get()); idle != nullptr && !idle->active()) {
        return *idle;
      }
    }
    calls_.push_back(std::make_shared<Call<R, T>>(reducer));
    return static_cast<Call<R, T>&>(*calls_.back());
  }
  /// A call of the type that is in use, or for gradients of type T where none is.
  template <GradientValue T>
  CallBase& idle_as_usual(R& reducer) {
    return usual_ != nullptr ? usual_(*this, reducer) : idle<T>(reducer);
  }
  /// T is the type that is in use.
  template <GradientValue T>
  void use() {
    usual_ = [](CallList& self, R& reducer) -> CallBase& { return self.idle<T>(reducer); };
  }
  void clear() noexcept {
    for (auto& call : calls_) call->orphan();
    calls_.clear();
    usual_ = nullptr;
  }

 private:
  std::vector<std::shared_ptr<CallBase>> calls_;
  CallBase& (*usual_)(CallList&, R&) = nullptr;
};

}  // namespace pactrain

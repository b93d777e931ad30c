// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>

#include <exception>
#include <string>

namespace pactrain {

/// Whether a communicator is still of use: after the first call that fails, all others do, and say
/// why. A call that breaks a precondition moves nothing, and does no harm.
class Fuse {
 public:
  /// Calls `f`, unless an earlier call failed.
  template <class F>
  decltype(auto) guarded(F f) {
    if (failure_) std::rethrow_exception(failure_);
    try {
      return f();
    } catch (const PreconditionError&) {
      throw;
    } catch (const std::exception& error) {
      failure_ = std::make_exception_ptr(
          BackendError("pactrain: the communicator is unusable since an earlier call failed (" +
                       std::string(error.what()) + "); make a new one"));
      throw;
    }
  }
  /// All calls fail from now on, with `why`.
  void abort(const std::string& why) {
    if (failure_) return;
    failure_ = std::make_exception_ptr(
        PeerLost("pactrain: the communicator is unusable since it was aborted (" + why +
                 "); make a new one"));
  }

 private:
  std::exception_ptr failure_;
};

}  // namespace pactrain

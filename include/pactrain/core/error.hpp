// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <source_location>
#include <stdexcept>
#include <string>

namespace pactrain {

/// What every exception of this library is. A message reads: the problem, why it is one, what to
/// do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A call that breaks a precondition; nothing was changed.
class PreconditionError : public Error {
 public:
  using Error::Error;
};

/// Ranks called with different sizes, types, options or masks; the same error on every rank.
class RankMismatch : public Error {
 public:
  RankMismatch(const std::string& message, int rank, std::string field)
      : Error(message), rank_(rank), field_(std::move(field)) {}

  /// A rank that differs from most of the others.
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// What it differs in.
  [[nodiscard]] const std::string& field() const noexcept { return field_; }

 private:
  int rank_;
  std::string field_;
};

/// A gradient with an infinity or a NaN on some rank: the step is refused on every rank, and
/// gradient, residual, mask and step are as they were before the call.
class StepRejected : public Error {
 public:
  using Error::Error;
};

/// A transport or a vendor library failed: the call, its code and its text.
class BackendError : public Error {
 public:
  using Error::Error;
};

/// A wait reached its deadline; the communicator is unusable from then on.
class DeadlineExceeded : public BackendError {
 public:
  using BackendError::BackendError;
};

/// Another rank ended or failed; the communicator is unusable from then on.
class PeerLost : public BackendError {
 public:
  using BackendError::BackendError;
};

/// Saved state that is truncated, damaged, or of another model or version; nothing was changed.
class StateError : public Error {
 public:
  using Error::Error;
};

/// Throws `PreconditionError` with `message`, and where the call stands, unless `condition` holds.
inline void expects(bool condition, const char* message,
                    std::source_location where = std::source_location::current()) {
  if (condition) return;
  throw PreconditionError(std::string("pactrain: ") + message + " [" + where.function_name() + "]");
}

/// The same for a message that is put together only when it is needed.
template <class Message>
  requires requires(const Message& message) { std::string(message()); }
void expects(bool condition, const Message& message) {
  if (!condition) throw PreconditionError("pactrain: " + std::string(message()));
}

}  // namespace pactrain

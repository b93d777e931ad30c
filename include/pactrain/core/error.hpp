// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// A wait for other ranks that came to nothing: in which collective, for which rank, and in which
/// step of a reducer. The communicator is unusable from then on.
class WaitError : public BackendError {
 public:
  WaitError(const std::string& message, std::string operation = {}, int rank = -1)
      : BackendError(message), operation_(std::move(operation)), rank_(rank) {}

  /// The collective, as `all_reduce`; empty where none was under way.
  [[nodiscard]] const std::string& operation() const noexcept { return operation_; }
  /// The first rank that was waited for, or that was lost; -1 where the transport does not know.
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// The step of the reducer whose call this was, where it was a reducer's.
  [[nodiscard]] std::optional<std::uint64_t> step() const noexcept { return step_; }

  /// Says, where the error passes and it is not known yet, in which collective the wait was.
  void in_operation(const std::string& operation) {
    if (operation_.empty()) add_context(operation_ = operation);
  }
  /// The same of the step.
  void in_step(std::uint64_t step) {
    if (!step_) add_context("step " + std::to_string(*(step_ = step)));
  }

 private:
  void add_context(const std::string& context) {
    constexpr std::string_view prefix = "pactrain: ";
    std::string_view text = what();
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    static_cast<std::runtime_error&>(*this) =
        std::runtime_error(std::string(prefix) + context + ": " + std::string(text));
  }

  std::string operation_;
  int rank_;
  std::optional<std::uint64_t> step_;
};

/// A wait reached its deadline; the communicator is unusable from then on.
class DeadlineExceeded : public WaitError {
 public:
  using WaitError::WaitError;
  /// Of `operation`, while the ranks `awaited` were waited for, as far as the transport knows them.
  static DeadlineExceeded of(const std::string& operation, const std::vector<int>& awaited) {
    std::string ranks;
    for (const int rank : awaited) {
      ranks += (ranks.empty() ? "rank " : ", rank ") + std::to_string(rank);
    }
    if (ranks.empty()) ranks = "ranks that the transport does not name";
    return {"pactrain: " + operation + " reached its deadline (waiting for " + ranks +
                "); look there for the cause, or set a longer timeout",
            operation, awaited.empty() ? -1 : awaited.front()};
  }
};

/// Another rank ended or failed; the communicator is unusable from then on.
class PeerLost : public WaitError {
 public:
  using WaitError::WaitError;
};

/// Saved state that is truncated, damaged, or of another model or version; nothing was changed.
class StateError : public Error {
 public:
  using Error::Error;
};

/// Is this an error that all ranks are told alike, so that they go on in step?
inline bool is_told_alike(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PreconditionError&) {
    return true;
  } catch (const RankMismatch&) {
    return true;
  } catch (const StepRejected&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// Calls `f`, a rank's part in a call of all ranks in `step`, which its failed waits name. After an
/// error that not all are told alike, this rank would be out of step with the others: it gives up,
/// and `give_up()` makes the communicator tell them, or at least stay silent.
template <class F, class GiveUp>
decltype(auto) in_step(std::uint64_t step, F f, GiveUp give_up) {
  try {
    return f();
  } catch (WaitError& error) {
    give_up();
    error.in_step(step);
    throw;
  } catch (...) {
    if (!is_told_alike(std::current_exception())) give_up();
    throw;
  }
}

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

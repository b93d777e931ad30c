// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/flags.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pactrain {

/// A message without the library's name before it, for putting it into another one.
[[nodiscard]] inline std::string without_prefix(std::string_view text) {
  constexpr std::string_view prefix = "pactrain: ";
  return std::string(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
}

/// Where the first infinity or NaN of these pieces is; empty where there is none. Waits.
template <Executor E, class S>
std::string describe_non_finite(E& exec, const Model& model,
                                std::span<const Piece<const S>> pieces) {
  auto lowest = exec.template make_buffer<std::size_t>(1);
  for (const auto& piece : pieces) {
    exec.reduce(piece.size, piece.size, kernel::FirstNonFinite<S>{piece.data, piece.size},
                kernel::Smallest{}, std::span<std::size_t, 1>(lowest.data(), 1));
    std::size_t at = 0;
    exec.read(std::span<const std::size_t>(lowest.data(), 1), std::span<std::size_t>(&at, 1));
    if (at < piece.size) return model.describe(piece.first + at) + " is an infinity or a NaN";
  }
  return {};
}

/// Throws the same `PreconditionError` on all ranks if a rank's call was wrong: its `trouble` says
/// how. Collective; waits.
template <Executor E, class C>
void refuse_trouble(E& exec, C& comm, const std::string& trouble) {
  const std::string wrong = gather_trouble(exec, comm, trouble);
  if (!wrong.empty()) throw PreconditionError("pactrain: " + wrong);
}

/// Refuses a step on all ranks: finds out together which rank is to blame, and throws the same
/// error on every one: `PreconditionError` where a rank's call was wrong, else `StepRejected`.
/// Collective; waits.
template <Executor E, class C, class S>
[[noreturn]] void refuse(E& exec, C& comm, const Model& model,
                         std::span<const Piece<const S>> source, Step step,
                         const std::string& trouble) {
  refuse_trouble(exec, comm, trouble);
  std::string where = gather_trouble(exec, comm, describe_non_finite(exec, model, source));
  if (where.empty()) {
    where =
        "the gradients are finite, but they or their sum are beyond the range of the value "
        "type or of the codec";
  }
  throw StepRejected("pactrain: step " + std::to_string(step) + " is refused on all ranks (" +
                     where +
                     "); gradient, residual, mask and step are as they were: lower the loss scale "
                     "or the learning rate, or set non_finite to propagate or ignore");
}

/// What the flags of a call say once they are all ranks'.
struct UnitedFlags {
  bool non_finite, stray;
};

/// Reads them, and refuses the step where a rank's call was wrong, or where a value is not finite
/// and the rule is to reject it. Collective if a flag is set; waits.
template <Executor E, class C, class S>
UnitedFlags accept(E& exec, C& comm, std::span<const std::uint32_t> flags, const Model& model,
                   std::span<const Piece<const S>> source, Step step, const std::string& trouble,
                   NonFinite rule) {
  std::uint32_t host[2];
  exec.read(flags, std::span<std::uint32_t>(host));
  const bool non_finite = host[kernel::non_finite_flag] != 0;  // or a rank's call was wrong
  if (non_finite && rule == NonFinite::reject) refuse(exec, comm, model, source, step, trouble);
  if (non_finite) refuse_trouble(exec, comm, trouble);
  return {non_finite, host[kernel::stray_flag] != 0};
}

}  // namespace pactrain

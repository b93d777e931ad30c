// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>

#include <mpi.h>

#include <array>
#include <cstddef>
#include <string>

namespace pactrain::mpi {

/// MPI's own words for an error code.
[[nodiscard]] inline std::string text_of(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return "no text";
  return {text.data(), static_cast<std::size_t>(length)};
}

/// Throws `BackendError` with the call, the code and MPI's text unless `code` is success. For calls
/// on a communicator, file or window whose error handler returns.
inline void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  throw BackendError(std::string("pactrain: ") + call + " failed with code " +
                     std::to_string(code) + " (" + text_of(code) + ")");
}

}  // namespace pactrain::mpi

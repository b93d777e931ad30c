// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>

#include <nccl.h>

#include <string>

namespace pactrain::nccl {

/// NCCL's own words for a result, and what it last wrote about a communicator.
[[nodiscard]] inline std::string text_of(ncclResult_t code, ncclComm_t comm = nullptr) {
  std::string text = ncclGetErrorString(code);
  const char* const last = ncclGetLastError(comm);
  if (last != nullptr && *last != '\0') text += std::string(": ") + last;
  return text;
}

/// Throws `BackendError` with the call, the code and NCCL's text unless `code` is success or says
/// that a non-blocking call is under way.
inline void check(ncclResult_t code, const char* call) {
  if (code == ncclSuccess || code == ncclInProgress) return;
  throw BackendError(std::string("pactrain: ") + call + " failed with code " +
                     std::to_string(static_cast<int>(code)) + " (" + text_of(code) + ")");
}

}  // namespace pactrain::nccl

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is of use without nvcc: headers of the vendors are found, and the libraries linked.
#include <pactrain/cuda/error.hpp>
#include <pactrain/nccl/error.hpp>

int main() {
  int version = 0;
  pactrain::nccl::check(ncclGetVersion(&version), "ncclGetVersion");
  pactrain::gpu::check(cudaRuntimeGetVersion(&version), "cudaRuntimeGetVersion");
  return version > 0 ? 0 : 1;
}

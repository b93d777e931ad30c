// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// The version of the headers, as three numbers.
#define PACTRAIN_VERSION_MAJOR 0
#define PACTRAIN_VERSION_MINOR 1
#define PACTRAIN_VERSION_PATCH 0

/// Marks a function that kernels may call, on the host and on a device (CUDA or HIP).
#if defined(__CUDACC__) || defined(__HIPCC__)
#define PACTRAIN_FN __host__ __device__
#else
#define PACTRAIN_FN
#endif

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/value_type.hpp>

#include <nccl.h>

#include <chrono>
#include <concepts>
#include <cstdint>

namespace pactrain {

/// How an `NcclCommunicator` works.
struct NcclOptions {
  /// The wait after which a blocking form gives up, and starting an operation too.
  std::chrono::nanoseconds timeout = std::chrono::minutes(10);
  /// The wait for all ranks at construction.
  std::chrono::nanoseconds connecting = std::chrono::minutes(10);
  /// The vendor's is NCCL's own, whose order depends on sizes and topology. `Order::rank` gives the
  /// bits of threads and MPI; it moves as many bytes, in more messages.
  Order order = Order::vendor;
  /// Have NCCL add half types too (ncclSum, ncclAvg): faster, but it rounds after every addition,
  /// and sums of large values overflow. They are added in float, in rank order, otherwise.
  bool vendor_halves = false;
};

namespace nccl {

/// The types whose sums NCCL makes by itself. It knows no 16-bit integers.
template <class T>
concept Summable = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, float16> ||
                   std::same_as<T, bfloat16> || std::same_as<T, std::int8_t> ||
                   std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
                   std::same_as<T, std::uint32_t> || std::same_as<T, std::uint64_t>;

template <Summable T>
[[nodiscard]] constexpr ncclDataType_t datatype() {
  if constexpr (std::same_as<T, float>) return ncclFloat32;
  else if constexpr (std::same_as<T, double>) return ncclFloat64;
  else if constexpr (std::same_as<T, float16>) return ncclFloat16;
  else if constexpr (std::same_as<T, bfloat16>) return ncclBfloat16;
  else if constexpr (std::same_as<T, std::int8_t>) return ncclInt8;
  else if constexpr (std::same_as<T, std::int32_t>) return ncclInt32;
  else if constexpr (std::same_as<T, std::int64_t>) return ncclInt64;
  else if constexpr (std::same_as<T, std::uint32_t>) return ncclUint32;
  else return ncclUint64;
}

}  // namespace nccl
}  // namespace pactrain

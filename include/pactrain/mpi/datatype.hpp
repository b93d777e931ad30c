// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/value_type.hpp>

#include <mpi.h>

#include <concepts>
#include <cstdint>

namespace pactrain::mpi {

/// The types that MPI itself adds: all that a communicator sums but the half types.
template <class T>
concept Summable = ReducibleValue<T> && std::same_as<arithmetic_t<T>, T>;

/// MPI's handle for the type `T`.
template <Summable T>
[[nodiscard]] MPI_Datatype datatype() {
  if constexpr (std::same_as<T, float>) return MPI_FLOAT;
  else if constexpr (std::same_as<T, double>) return MPI_DOUBLE;
  else if constexpr (std::same_as<T, std::int8_t>) return MPI_INT8_T;
  else if constexpr (std::same_as<T, std::int16_t>) return MPI_INT16_T;
  else if constexpr (std::same_as<T, std::int32_t>) return MPI_INT32_T;
  else if constexpr (std::same_as<T, std::int64_t>) return MPI_INT64_T;
  else if constexpr (std::same_as<T, std::uint32_t>) return MPI_UINT32_T;
  else return MPI_UINT64_T;
}

/// MPI's handle for a reduction; a mean is a sum that is divided afterwards.
template <class Op>
[[nodiscard]] MPI_Op reduction_operator() {
  if constexpr (std::same_as<Op, Max>) return MPI_MAX;
  else return MPI_SUM;
}

}  // namespace pactrain::mpi

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <limits>

namespace pactrain {

/// How an `MpiCommunicator` works.
struct MpiOptions {
  /// The wait after which a blocking form gives up.
  std::chrono::nanoseconds timeout = std::chrono::minutes(10);
  /// How long the destructor waits for the other ranks' destructors before it leaves the duplicate
  /// of the communicator to MPI instead of freeing it.
  std::chrono::nanoseconds farewell = std::chrono::seconds(1);
  Order order = Order::rank;  ///< the vendor's is MPI_Iallreduce; half types keep rank order
  /// Bytes of the messages into which a reduction's slices are cut: while one is on its way, the
  /// next is added up. The result does not depend on it. The default stays below what Open MPI
  /// sends over TCP without asking first.
  std::size_t segment = std::size_t{1} << 15;
  /// Bytes of the largest message, at most 2^31 - 1; what is longer is cut.
  std::size_t message_limit = std::size_t{1} << 30;
};

namespace mpi {

/// Throws `PreconditionError` for options that cannot work; returns them otherwise.
inline MpiOptions checked(MpiOptions options) {
  constexpr std::size_t largest = std::numeric_limits<int>::max();
  static_cast<void>(checked_timeout(options.timeout));
  expects(options.farewell.count() >= 0,
          "farewell is negative (the time for which a destructor waits); set 0 for none");
  expects(options.segment > 0, "a segment of 0 bytes moves nothing; set at least one element's");
  expects(options.message_limit > 0 && options.message_limit <= largest,
          "message_limit is not in [1, 2^31 - 1] (MPI counts in int)");
  return options;
}

}  // namespace mpi
}  // namespace pactrain

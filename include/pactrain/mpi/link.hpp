// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/mpi/error.hpp>

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <thread>

namespace pactrain::mpi {

/// An owned duplicate of a communicator: messages of this library never meet those of its user.
/// Errors on it are returned, not fatal. Constructing is collective over the communicator and waits
/// for its ranks (MPI_Comm_dup). Destroying frees it if all ranks destroy theirs within `farewell`,
/// and leaves it to MPI otherwise, or if MPI has ended by then.
class Link {
 public:
  /// Throws `PreconditionError` before MPI_Init, after MPI_Finalize, and for what is no
  /// intracommunicator.
  Link(MPI_Comm comm, std::chrono::nanoseconds farewell) : farewell_(farewell) {
    expects(running(), "MPI is not running; construct between MPI_Init and MPI_Finalize");
    expects(comm != MPI_COMM_NULL,
            "the communicator is MPI_COMM_NULL; is this rank outside of it?");
    int inter = 0;
    check(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
    expects(inter == 0, "an intercommunicator has no rank order; merge it (MPI_Intercomm_merge)?");
    check(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    void* bound = nullptr;
    int known = 0;
    MPI_Comm_get_attr(comm_, MPI_TAG_UB, static_cast<void*>(&bound), &known);
    if (known != 0) largest_tag_ = *static_cast<const int*>(bound);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    if (running() && all_leave()) MPI_Comm_free(&comm_);
  }

  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }

  /// Two tags, t and t + 1, for the next collective; the same on all ranks, as all count alike.
  [[nodiscard]] int next_tag() noexcept {
    const int tag = next_tag_;
    next_tag_ = tag + 2 < largest_tag_ ? tag + 2 : 0;
    return tag;
  }

  /// Payload bytes handed to MPI for other ranks so far.
  std::uint64_t bytes_sent = 0;

 private:
  static bool running() {
    int begun = 0, ended = 0;
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
    return begun != 0 && ended == 0;
  }
  /// A rank that still waits for this one may have messages on their way; Open MPI loses its
  /// bearings if they arrive on a communicator that was freed.
  [[nodiscard]] bool all_leave() const noexcept {
    const Deadline deadline = deadline_in(farewell_);
    MPI_Request barrier = MPI_REQUEST_NULL;
    int left = 0;
    if (MPI_Ibarrier(comm_, &barrier) != MPI_SUCCESS) return false;
    while (MPI_Test(&barrier, &left, MPI_STATUS_IGNORE) == MPI_SUCCESS && left == 0) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::yield();
    }
    return left != 0;
  }

  std::chrono::nanoseconds farewell_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  int largest_tag_ = 32767;  // what the standard grants
  int next_tag_ = 0;
};

}  // namespace pactrain::mpi

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/fuse.hpp>
#include <pactrain/mpi/link.hpp>
#include <pactrain/mpi/operation.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace pactrain::mpi {

/// The operations of a communicator, under way and idle, and whether it is still of use. Move-only;
/// operations and the link stay where they are.
template <Executor S>
class Pool {
 public:
  Pool(MPI_Comm comm, std::chrono::nanoseconds farewell, S exec)
      : link_(std::make_unique<Link>(comm, farewell)),
        exec_(std::make_unique<S>(std::move(exec))) {}
  Pool(Pool&&) = default;
  Pool& operator=(Pool&& other) noexcept {
    std::swap(link_, other.link_);
    std::swap(exec_, other.exec_);
    std::swap(operations_, other.operations_);
    std::swap(fuse_, other.fuse_);
    return *this;
  }
  /// MPI may still write to the staging of what has not finished, and has no way to be told not to
  /// that works for sends and for lost ranks: that memory is left to it, and so is the link.
  ~Pool() {
    const auto pending = [](const auto& operation) { return !operation->finished(); };
    if (std::none_of(operations_.begin(), operations_.end(), pending)) return;
    for (auto& operation : operations_) {
      if (pending(operation)) static_cast<void>(operation.release());
    }
    static_cast<void>(link_.release());
  }

  /// What works on the staging.
  [[nodiscard]] S& executor() noexcept { return *exec_; }
  [[nodiscard]] Link& link() noexcept { return *link_; }
  [[nodiscard]] const Link& link() const noexcept { return *link_; }

  /// An operation with `bytes` of staging: of those that are idle, the one whose memory fits best.
  Operation<S>& open(const char* name, std::size_t segment, std::size_t bytes) {
    Operation<S>* best = nullptr;
    for (const auto& operation : operations_) {
      if (!operation->idle()) continue;
      if (best == nullptr || fits_better(operation->capacity(), best->capacity(), bytes)) {
        best = operation.get();
      }
    }
    if (best == nullptr) best = operations_.emplace_back(std::make_unique<Operation<S>>()).get();
    best->open(*link_, *exec_, name, segment, bytes);
    return *best;
  }
  /// Does what is due for all operations: another rank may wait for any of them.
  void progress() {
    for (const auto& operation : operations_) {
      if (!operation->idle()) operation->progress();
    }
  }

  /// What says whether calls are still of use.
  [[nodiscard]] Fuse& fuse() noexcept { return fuse_; }

 private:
  static bool fits_better(std::size_t a, std::size_t b, std::size_t bytes) {
    if (a >= bytes && b >= bytes) return a < b;
    return a > b;
  }

  std::unique_ptr<Link> link_;
  std::unique_ptr<S> exec_;
  std::vector<std::unique_ptr<Operation<S>>> operations_;
  Fuse fuse_;
};

}  // namespace pactrain::mpi

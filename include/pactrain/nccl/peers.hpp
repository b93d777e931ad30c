// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/nccl/error.hpp>
#include <pactrain/nccl/link.hpp>
#include <pactrain/nccl/options.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace pactrain::nccl {

/// What moves between the ranks of a link, queued on one stream, and how many bytes of it go out.
class Peers {
 public:
  Peers(std::unique_ptr<Link> link, cudaStream_t stream, std::chrono::nanoseconds patience)
      : link_(std::move(link)), stream_(stream), patience_(patience) {}

  [[nodiscard]] Link& link() const noexcept { return *link_; }
  [[nodiscard]] int rank() const noexcept { return link_->rank(); }
  [[nodiscard]] int size() const noexcept { return link_->size(); }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }

  /// Rank r gets `outgoing(r)`, and `incoming(r)` is what it sends here; both are spans, of sizes
  /// that fit, and rank r sends no elements where `incoming(r)` has none.
  template <class Outgoing, class Incoming>
  void exchange(const char* name, Outgoing outgoing, Incoming incoming) {
    link_->group(name, Link::after(patience_), [&](ncclComm_t comm) {
      for (int step = 1; step < size(); ++step) {
        const int to = (rank() + step) % size(), from = (rank() + size() - step) % size();
        const auto out = outgoing(to);
        const auto in = incoming(from);
        if (!out.empty()) {
          check(ncclSend(out.data(), out.size_bytes(), ncclInt8, to, comm, stream_), "ncclSend");
        }
        if (!in.empty()) {
          check(ncclRecv(in.data(), in.size_bytes(), ncclInt8, from, comm, stream_), "ncclRecv");
        }
        bytes_sent_ += out.size_bytes();
      }
    });
  }
  /// `x` becomes what it is on `root`.
  template <class T>
  void broadcast(const char* name, std::span<T> x, int root) {
    link_->group(name, Link::after(patience_), [&](ncclComm_t comm) {
      check(ncclBroadcast(x.data(), x.data(), x.size_bytes(), ncclInt8, root, comm, stream_),
            "ncclBroadcast");
    });
    if (rank() == root) bytes_sent_ += x.size_bytes() * others();
  }
  /// As much from every rank, in rank order.
  template <class T>
  void all_gather(const char* name, std::span<const T> mine, std::span<T> all) {
    link_->group(name, Link::after(patience_), [&](ncclComm_t comm) {
      check(ncclAllGather(mine.data(), all.data(), mine.size_bytes(), ncclInt8, comm, stream_),
            "ncclAllGather");
    });
    bytes_sent_ += mine.size_bytes() * others();
  }
  /// NCCL's own sum or maximum; the mean of half types only.
  template <Summable T, class Op>
  void all_reduce(const char* name, std::span<const T> in, std::span<T> out, Op) {
    const ncclRedOp_t op = std::same_as<Op, Max>    ? ncclMax
                           : std::same_as<Op, Mean> ? ncclAvg
                                                    : ncclSum;
    link_->group(name, Link::after(patience_), [&](ncclComm_t comm) {
      check(ncclAllReduce(in.data(), out.data(), in.size(), datatype<T>(), op, comm, stream_),
            "ncclAllReduce");
    });
    const std::size_t own = share_of(in.size(), rank(), size()).size();
    bytes_sent_ += in.size_bytes() - own * sizeof(T) + own * sizeof(T) * others();
  }

 private:
  [[nodiscard]] std::size_t others() const { return static_cast<std::size_t>(size() - 1); }

  std::unique_ptr<Link> link_;
  cudaStream_t stream_;
  std::chrono::nanoseconds patience_;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace pactrain::nccl

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/communicator.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/host/rank_order.hpp>
#include <pactrain/kernel/rank_order.hpp>
#include <pactrain/mpi/datatype.hpp>
#include <pactrain/mpi/error.hpp>
#include <pactrain/mpi/link.hpp>

#include <mpi.h>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <vector>

namespace pactrain::mpi {

/// Bytes that go to or come from one rank, cut into segments that are messages. An empty lane is
/// one empty message, so that ranks of different sizes notice. A send of the second phase waits
/// until its segment is reduced.
struct Lane {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  int peer = 0;
  int phase = 0;
  bool sends = false;
  std::size_t posted = 0, complete = 0;  ///< segments; in order
};

/// What is made of the ranks' contributions to a slice: its segments, as they arrive, by kernels of
/// executor S or, on the host, a loop over what the caches hold.
template <Executor S>
struct Reduction {
  void (*run)(const Reduction&, S& exec, std::size_t begin, std::size_t end, int rank,
              int ranks) = nullptr;
  const std::byte* own = nullptr;
  const std::byte* all = nullptr;  ///< in rank order, `stride` bytes each; this rank's is elsewhere
  std::size_t stride = 0, bytes = 0;
  std::byte* out = nullptr;

  template <ReducibleValue T, class Op>
  static void in_rank_order(const Reduction& self, S& exec, std::size_t begin, std::size_t end,
                            int rank, int ranks) {
    const std::size_t n = (end - begin) / sizeof(T);
    const auto* const mine = reinterpret_cast<const T*>(self.own + begin);
    const auto* const others = reinterpret_cast<const T*>(self.all + begin);
    const std::size_t stride = self.stride / sizeof(T);
    auto* const out = reinterpret_cast<T*>(self.out + begin);
    if constexpr (std::same_as<S, HostExecutor>) {
      const auto contribution = [&](int r) {
        return r == rank ? mine : others + static_cast<std::size_t>(r) * stride;
      };
      reduce_in_rank_order<T>(n, ranks, contribution, Op{}, out);
    } else {
      exec.for_each(n, kernel::ReduceInRankOrder<T, Op>{mine, others, stride, rank, ranks, out});
      exec.fence();
    }
  }
};

/// A collective under way: lanes, what is reduced between its two phases, and the memory that MPI
/// reads and writes. It waits for nothing; `progress` does what is due. Kept and reused: equal
/// operations allocate once.
template <Executor S>
class Operation {
 public:
  /// Segments of a lane in flight: while one is on the wire, the next is known to MPI.
  static constexpr std::size_t window = 4;

  /// Begins anew, with `bytes` of staging. `segment`: bytes of a message, at least one element.
  void open(Link& link, S& exec, const char* name, std::size_t segment, std::size_t bytes) {
    link_ = &link;
    exec_ = &exec;
    name_ = name;
    tag_ = link.next_tag();
    segment_ = segment;
    lanes_.clear();
    requests_.clear();
    reduction_ = {};
    reduced_ = remaining_ = 0;
    idle_ = false;
    memory_ = staging_.template take<std::byte>(exec, bytes).data();
  }
  [[nodiscard]] std::byte* staging() const noexcept { return memory_; }
  void send(const std::byte* data, std::size_t bytes, int peer, int phase = 0) {
    lanes_.push_back({const_cast<std::byte*>(data), bytes, peer, phase, true});
  }
  void receive(std::byte* data, std::size_t bytes, int peer, int phase = 0) {
    lanes_.push_back({data, bytes, peer, phase, false});
  }
  void reduce(const Reduction<S>& reduction) { reduction_ = reduction; }
  /// Posts the first messages, once what they carry has been copied.
  void begin() {
    exec_->fence();
    for (const Lane& lane : lanes_) remaining_ += segments(lane.bytes);
    requests_.assign(lanes_.size() * window, MPI_REQUEST_NULL);
    make_room();
    advance();
  }
  /// Instead of lanes and `begin`: MPI's own all-reduce of `n` values. All its messages are posted
  /// at once, since ranks must post collectives in the same order. Not in place: Open MPI would
  /// take an algorithm that moves more than twice the bytes.
  template <Summable T, class Op>
  void all_reduce(const T* in, T* out, std::size_t n, std::size_t limit, Op) {
    exec_->fence();
    for (std::size_t first = 0; first < n || first == 0; first += limit) {
      const int count = static_cast<int>(std::min(limit, n - first));
      MPI_Request& started = requests_.emplace_back(MPI_REQUEST_NULL);
      check(MPI_Iallreduce(in + first, out + first, count, datatype<T>(), reduction_operator<Op>(),
                           link_->comm(), &started),
            "MPI_Iallreduce");
      ++remaining_;
    }
    make_room();
  }

  /// Does what can be done without waiting. Throws `RankMismatch` for a message of another size
  /// than expected, `BackendError` for what MPI reports.
  void progress() {
    if (finished()) return;
    collect();
    advance();
  }
  [[nodiscard]] bool finished() const noexcept {
    return remaining_ == 0 && reduced_ == segments_to_reduce();
  }
  /// Free for the next use.
  [[nodiscard]] bool idle() const noexcept { return idle_; }
  void give_back() noexcept { idle_ = true; }

  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return staging_.bytes(); }
  /// The ranks that this one waits for, as far as can be known, for messages.
  [[nodiscard]] std::vector<int> awaited() const {
    for (const bool sends : {false, true}) {
      for (const int phase : {0, 1}) {
        std::vector<int> ranks;
        for (const Lane& lane : lanes_) {
          if (lane.sends != sends || lane.phase != phase) continue;
          if (lane.complete == segments(lane.bytes)) continue;
          ranks.push_back(lane.peer);
        }
        if (!ranks.empty()) return ranks;
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::size_t segments(std::size_t bytes) const noexcept {
    return bytes == 0 ? 1 : (bytes - 1) / segment_ + 1;
  }
  [[nodiscard]] std::size_t segments_to_reduce() const noexcept {
    return reduction_.run == nullptr ? 0 : segments(reduction_.bytes);
  }
  [[nodiscard]] std::size_t size_of(const Lane& lane, std::size_t segment) const noexcept {
    return std::min(segment_, lane.bytes - segment * segment_);
  }
  void make_room() {
    indices_.resize(requests_.size());
    statuses_.resize(requests_.size());
  }

  void collect() {
    int count = 0;
    const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                  indices_.data(), statuses_.data());
    const bool in_status = code != MPI_SUCCESS && class_of(code) == MPI_ERR_IN_STATUS;
    if (!in_status) check(code, "MPI_Testsome");
    if (count == MPI_UNDEFINED) return;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      inspect(static_cast<std::size_t>(indices_[i]), statuses_[i], in_status);
    }
    remaining_ -= static_cast<std::size_t>(count);
  }
  void inspect(std::size_t index, const MPI_Status& status, bool may_have_failed) const {
    const int code = may_have_failed ? status.MPI_ERROR : MPI_SUCCESS;
    if (lanes_.empty() || lanes_[index / window].sends) return check(code, name_);
    const Lane& lane = lanes_[index / window];
    const std::size_t ahead = (index % window + window - lane.complete % window) % window;
    int received = 0;
    if (code == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &received);
    const bool longer = code != MPI_SUCCESS && class_of(code) == MPI_ERR_TRUNCATE;
    const std::size_t expected = size_of(lane, lane.complete + ahead);
    if (!longer) check(code, name_);
    if (!longer && static_cast<std::size_t>(received) == expected) return;
    const std::string found = longer ? "more" : std::to_string(received);
    throw RankMismatch("pactrain: rank " + std::to_string(lane.peer) + " sent " + found +
                           " bytes to " + name_ + " where this rank expects " +
                           std::to_string(expected) + "; make all ranks call with fitting sizes",
                       lane.peer, "size");
  }
  static int class_of(int code) {
    int error_class = MPI_ERR_OTHER;
    MPI_Error_class(code, &error_class);
    return error_class;
  }

  void advance() {
    std::size_t arrived = segments_to_reduce();
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      while (lane.complete < lane.posted && request_of(i, lane.complete) == MPI_REQUEST_NULL) {
        ++lane.complete;
      }
      if (!lane.sends && lane.phase == 0) arrived = std::min(arrived, lane.complete);
    }
    for (; reduced_ < arrived; ++reduced_) {
      const std::size_t begin = reduced_ * segment_;
      const std::size_t end = std::min(begin + segment_, reduction_.bytes);
      reduction_.run(reduction_, *exec_, begin, end, link_->rank(), link_->size());
    }
    for (bool any = true; any;) {  // a segment of each lane in turn: all links are busy early
      any = false;
      for (std::size_t i = 0; i < lanes_.size(); ++i) any |= post_next(i);
    }
  }
  bool post_next(std::size_t i) {
    Lane& lane = lanes_[i];
    const bool gated = lane.sends && lane.phase == 1;
    const std::size_t ready = gated ? reduced_ : segments(lane.bytes);
    if (lane.posted >= ready || lane.posted - lane.complete == window) return false;
    std::byte* data = lane.data + lane.posted * segment_;
    const std::size_t bytes = size_of(lane, lane.posted);
    const int count = static_cast<int>(bytes), tag = tag_ + lane.phase;
    MPI_Request& request = request_of(i, lane.posted);
    if (lane.sends) {
      check(MPI_Isend(data, count, MPI_BYTE, lane.peer, tag, link_->comm(), &request), "MPI_Isend");
      link_->bytes_sent += bytes;
    } else {
      check(MPI_Irecv(data, count, MPI_BYTE, lane.peer, tag, link_->comm(), &request), "MPI_Irecv");
    }
    ++lane.posted;
    return true;
  }
  MPI_Request& request_of(std::size_t lane, std::size_t segment) {
    return requests_[lane * window + segment % window];
  }

  Link* link_ = nullptr;
  S* exec_ = nullptr;
  const char* name_ = "";
  int tag_ = 0;
  std::size_t segment_ = 1;
  std::vector<Lane> lanes_;
  std::vector<MPI_Request> requests_;  ///< `window` a lane
  std::vector<MPI_Status> statuses_;
  std::vector<int> indices_;
  Reduction<S> reduction_;
  std::size_t reduced_ = 0;    ///< segments
  std::size_t remaining_ = 0;  ///< messages that have not completed, posted or not
  bool idle_ = true;
  Scratch<S> staging_;
  std::byte* memory_ = nullptr;
};

}  // namespace pactrain::mpi

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// The deadline of a wait that begins now and may take the communicator's usual time.
template <class C>
[[nodiscard]] Deadline usual_deadline(const C& comm) {
  return deadline_in(comm.timeout());
}

/// `x` becomes its reduction over ranks. Collective; waits.
template <class T, Executor E, Communicator<E> C, class Op>
void all_reduce(E& exec, C& comm, std::span<T> x, Op op) {
  auto request = comm.start_all_reduce(exec, x, op);
  comm.finish(request, usual_deadline(comm));
}

/// `x` becomes what it is on rank `root`. Collective; waits.
template <class T, Executor E, Communicator<E> C>
void broadcast(E& exec, C& comm, std::span<T> x, int root) {
  auto request = comm.start_broadcast(exec, x, root);
  comm.finish(request, usual_deadline(comm));
}

/// `all` becomes every rank's contribution, `counts[r]` elements from rank r. Collective; waits.
template <class T, Executor E, Communicator<E> C>
void all_gather(E& exec, C& comm, std::span<const T> mine, std::span<const std::size_t> counts,
                std::span<T> all) {
  auto request = comm.start_all_gather(exec, mine, counts, all);
  comm.finish(request, usual_deadline(comm));
}

/// The same where every rank contributes as much: `all.size() == mine.size() * comm.size()`.
template <class T, Executor E, Communicator<E> C>
void all_gather(E& exec, C& comm, std::span<const T> mine, std::span<T> all) {
  const std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size()), mine.size());
  all_gather(exec, comm, mine, std::span<const std::size_t>(counts), all);
}

/// `out` becomes this rank's share of the reduction of `in`. Collective; waits.
template <class T, Executor E, Communicator<E> C, class Op>
void reduce_scatter(E& exec, C& comm, std::span<const T> in, std::span<T> out, Op op) {
  auto request = comm.start_reduce_scatter(exec, in, out, op);
  comm.finish(request, usual_deadline(comm));
}

/// Slice r of `send` goes to rank r, slice r of `recv` comes from there. Collective; waits.
template <class T, Executor E, Communicator<E> C>
void all_to_all(E& exec, C& comm, std::span<const T> send, std::span<const std::size_t> send_counts,
                std::span<T> recv, std::span<const std::size_t> recv_counts) {
  auto request = comm.start_all_to_all(exec, send, send_counts, recv, recv_counts);
  comm.finish(request, usual_deadline(comm));
}

}  // namespace pactrain

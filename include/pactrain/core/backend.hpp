// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/communicator.hpp>
#include <pactrain/core/executor.hpp>

#include <concepts>
#include <cstdint>
#include <utility>

namespace pactrain {

/// An executor and a communicator that reach each other's memory.
template <class B>
concept Backend =
    Communicator<typename B::communicator_type, typename B::executor_type> && requires(B& backend) {
      { backend.executor() } -> std::same_as<typename B::executor_type&>;
      { backend.communicator() } -> std::same_as<typename B::communicator_type&>;
    };

/// A backend made of any executor and any communicator that reaches its memory.
template <Executor E, class C>
class BackendPair {
  static_assert(Communicator<C, E>,
                "pactrain: the communicator does not reach the executor's memory, or lacks an "
                "operation; wrap it in HostStaged<...>?");

 public:
  using executor_type = E;
  using communicator_type = C;

  BackendPair()
    requires std::default_initializable<E> && std::default_initializable<C>
  = default;
  BackendPair(E exec, C comm) : exec_(std::move(exec)), comm_(std::move(comm)) {}

  [[nodiscard]] E& executor() noexcept { return exec_; }
  [[nodiscard]] C& communicator() noexcept { return comm_; }
  /// How many reducers were made on it before this one, which counts now: ranks make theirs in the
  /// same order, and so tell whether they call the same one.
  [[nodiscard]] std::uint64_t number_reducer() noexcept { return reducers_++; }

 private:
  E exec_;
  C comm_;
  std::uint64_t reducers_ = 0;
};

}  // namespace pactrain

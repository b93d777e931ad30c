// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/pactrain.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace demo {

/// Every rank's value, in rank order, known to every rank. Collective.
template <class T, class Backend>
std::vector<T> gather(Backend& backend, T mine) {
  std::vector<T> all(static_cast<std::size_t>(backend.communicator().size()));
  pactrain::all_gather(backend.executor(), backend.communicator(), std::span<const T>(&mine, 1),
                       std::span<T>(all));
  return all;
}

}  // namespace demo

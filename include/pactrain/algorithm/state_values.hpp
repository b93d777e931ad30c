// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// Writes `n` values of executor memory to a state. Waits.
template <class T, Executor E>
void save_values(E& exec, Writer& writer, const Scratch<E>& values, std::size_t n) {
  std::vector<T> host(n);
  exec.read(as_const_span(values.template view<T>(n)), std::span<T>(host));
  writer.array(std::span<const T>(host));
}

/// Reads what `save_values` wrote; `what` names it where it has another length. Waits.
template <class T, Executor E>
void load_values(E& exec, Reader& reader, Scratch<E>& values, std::size_t n, const char* what) {
  const auto host = reader.array<T>(n, what);
  exec.write(std::span<const T>(host), values.template take<T>(exec, n));
}

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/core/backend.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/slices.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pactrain {

/// Gives all ranks the values that rank `root` has, so that replicas start alike. `x` is a vector,
/// a span or a list of slices, of the same sizes on all ranks, which name the same root (else
/// `RankMismatch`, and nothing has moved; `PreconditionError` where it is no rank). Collective;
/// waits.
template <Backend B, Sliceable X>
void broadcast(B& backend, X&& x, int root = 0) {
  with_slices(x, [&](auto slices) {
    std::uint64_t size = 0, sizes = slices.size();
    for (std::size_t i = 0; i < slices.size(); ++i) {
      size += slices[i].values.size();
      sizes += kernel::mix(slices[i].values.size(), i);
    }
    const int ranks = backend.communicator().size();
    const std::string trouble = root >= 0 && root < ranks
                                    ? ""
                                    : "the root of a broadcast is " + std::to_string(root) +
                                          ", which is no rank; name one of 0 to " +
                                          std::to_string(ranks - 1);
    const Statement statements[] = {
        {"root", static_cast<std::uint64_t>(root), true},
        {"size", size, true},
        {"sizes of slices", sizes, false},
        {"value type", static_cast<std::uint64_t>(value_type<slice_value_t<X>>), false}};
    agree(backend.executor(), backend.communicator(), std::span<const Statement>(statements),
          trouble, [](std::string_view, const auto&) { return std::string(); });
    for (const auto& slice : slices) {
      broadcast(backend.executor(), backend.communicator(), slice.values, root);
    }
  });
}

}  // namespace pactrain

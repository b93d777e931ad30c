// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/amplify.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/report.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace pactrain {

/// What travels by `path` goes to its places in `packed`: the entries that the mask keeps or, on
/// the dense path, all, with zeros where the mask drops if they are `masked` (it may have been
/// found wrong). `non_finite` is as in `pack`.
template <Executor E, class Keeper, class Pieces, class S>
void pack_entries(E& exec, Keeper& keeper, const Pieces& pieces, Path path, bool masked,
                  std::span<S> packed, std::uint32_t* non_finite, Scratch<E>& scratch) {
  pieces.each([&](const auto&, const auto& source, const auto& place, std::size_t at) {
    if (path != Path::dense) {
      pack(exec, keeper.mask(), source, packed.data() + place.first, keeper.slot(place.part),
           non_finite, scratch);
      return;
    }
    const auto here = packed.subspan(at, source.size);
    exec.copy(source.values(), here);
    if (non_finite != nullptr) find_non_finite(exec, source.values(), non_finite, scratch);
    if (masked) keeper.mask().clear(exec, source.first, here);
  });
  if (masked) amplify(exec, keeper.policy(), pieces.places(path), packed);
}

/// The reduced values that came by `path` go into the gradient, and zeros where the mask drops; on
/// the local path they are the source's.
template <Executor E, class Keeper, class Pieces, class T>
void unpack_entries(E& exec, Keeper& keeper, const Pieces& pieces, Path path, bool masked,
                    std::span<T> values) {
  pieces.each([&](const auto& piece, const auto& source, const auto& place, std::size_t at) {
    if (path == Path::local) {
      if constexpr (std::is_same_v<decltype(source.data), const T*>) {
        if (source.data != piece.data) exec.copy(source.values(), piece.values());
      }
      if (masked) keeper.mask().clear(exec, piece.first, piece.values());
    } else if (path == Path::dense) {
      exec.copy(as_const_span(values.subspan(at, piece.size)), piece.values());
    } else {
      unpack(exec, keeper.mask(), values.data() + place.first, keeper.slot(place.part), piece);
    }
  });
  exec.fence();
}

}  // namespace pactrain

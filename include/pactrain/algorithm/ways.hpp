// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/report.hpp>

#include <cstddef>
#include <span>

namespace pactrain {

/// What a call is, to whoever chooses how its values travel.
struct CallSize {
  std::span<const PackedPart> parts;  ///< which parameters, and how many entries of each are kept
  std::size_t entries = 0;            ///< of these parameters
  std::size_t value_bytes = 4;
  bool moved = false;  ///< the mask has changed
};

/// How a call's values travel: by a path and, if that is `Path::packed`, by one of the codecs.
struct Way {
  Path path = Path::packed;
  std::size_t codec = 0;
  std::size_t bucket = 0;  ///< the call's place in the list of whoever chose
  bool moved = false;      ///< the mask has changed since this codec carried these parameters
};

/// Does a codec choose how each call travels? Then its state has `choose<R>(backend, size, step)`,
/// for a reducer `R`, which returns the same `Way` on all ranks, is collective and may wait; and
/// its exchange `take(way)`, before a call starts, and `visit(f)`, which calls f with the exchange
/// that carried it, once the call is accepted.
template <class Z>
inline constexpr bool chooses_ways = requires { requires Z::chooses_ways; };

}  // namespace pactrain

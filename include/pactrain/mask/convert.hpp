// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/config.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>

#include <cstddef>

namespace pactrain {

namespace kernel {

/// What a set says of the positions from `first` on.
template <class Set>
struct KeepFrom {
  Set set;
  std::size_t first;
  PACTRAIN_FN bool operator()(std::size_t i) const { return set(first + i); }
};

}  // namespace kernel

/// Stores the set of one representation in another: `to` becomes a mask of `model` that keeps what
/// `from` keeps. Waits, is not collective.
///
/// Precondition: `from` is a mask of `model`, and not `to`. Throws `PreconditionError` where `to`
/// cannot hold the set (`NofMMask`, `FullMask`); it is then to be begun anew. A `BlockMask` keeps
/// the whole of each block that `from` keeps an entry of.
template <Executor E, class From, class To>
void convert(E& exec, const Model& model, const From& from, To& to) {
  to.begin(exec, model);
  for (std::size_t part = 0; part < model.parts().size(); ++part) {
    const Part& in = model.parts()[part];
    to.assign(exec, Piece<const float>{part, 0, in.first, in.size},
              kernel::KeepFrom{from.keep(), in.first});
  }
  to.end(exec);
}

}  // namespace pactrain

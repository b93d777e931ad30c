// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/sketch.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/dense_all_reduce.hpp>

namespace pactrain {

/// The sum of gradients of which most entries are zeros, as an index and a count sketch (lossless
/// homomorphic compression, arXiv 2402.07529): `DenseAllReduce` with the codec `Sketch`.
/// `reduce.codec_state()` tells cells, rounds and unresolved entries of the last call.
template <class B>
class SketchAllReduce : public DenseAllReduce<B, Sketch> {
 public:
  /// Throws `PreconditionError` for options that cannot work.
  explicit SketchAllReduce(B& backend, Sketch codec = {}, ReduceOptions options = {})
      : DenseAllReduce<B, Sketch>(backend, {}, codec, {}, options) {}
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/cost/add_table.hpp>
#include <pactrain/cost/fusion.hpp>

#include <cstddef>
#include <istream>
#include <optional>
#include <stdexcept>
#include <vector>

namespace pactrain::tools {

/// A file that cannot be used: what is wrong with it, where, and what to do.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// When the gradients of a step became ready, on average over the steps that count.
struct Measured {
  std::vector<LayerGradient> layers;      ///< in the order of backward
  std::optional<double> batch_seconds{};  ///< of one rank alone, if the file tells
  std::size_t steps = 1;                  ///< that count
};

/// Reads comma-separated values: a line of column names, then a line for each gradient, in the
/// order of backward. Columns are `bytes` and `ready_seconds` or `ready_ms`, since the start of
/// backward; others are passed over, and so are empty lines and those that begin with #. A gradient
/// that is ready before the one above it counts as ready with it. Throws `InputError`.
Measured read_csv(std::istream& in);

/// Reads a trace that `GradientBuckets` recorded: the row "ready" has a moment for each gradient,
/// with its step and bytes, and the row "computing" the time that a step computes. Where files of
/// several ranks were put together, those of the lowest count. As in the study, the first five
/// steps are left out (all but the last, if there are fewer), and the others' times averaged,
/// gradient by gradient; the first is taken to be ready at the start. Throws `InputError`.
Measured read_trace(std::istream& in);

/// A trace begins with a bracket, and comma-separated values with a name. Throws `InputError`.
Measured read_measured(std::istream& in);

/// Reads columns `bytes` and `seconds`: what adding two vectors of so many bytes takes. Throws
/// `InputError`.
AddTable read_add_table(std::istream& in);

}  // namespace pactrain::tools

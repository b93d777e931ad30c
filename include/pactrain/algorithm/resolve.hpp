// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/slices.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace pactrain {

/// Is one of `slices` called as a part of its size that lies elsewhere than where slices that
/// follow each other would put it?
template <class T>
bool names_other_places(const Model& model, std::span<const Slice<T>> slices) {
  const auto parts = model.parts();
  std::size_t first = 0;
  for (std::size_t i = 0; i < slices.size(); first += slices[i++].values.size()) {
    const bool as_introduced = i < parts.size() && slices[i].name == parts[i].name;
    if (slices[i].name.empty() || (as_introduced && parts[i].first == first)) continue;
    const std::size_t part = model.part_named(slices[i].name);
    if (part < parts.size() && parts[part].size == slices[i].values.size() &&
        parts[part].first != first) {
      return true;
    }
  }
  return false;
}

/// Finds the places of `slices` in a model and writes the pieces they make, in order of position.
/// Slices are the whole model in order, cut anywhere; or whole parts that are named, in any order.
/// Throws `PreconditionError`.
template <class T>
void resolve(const Model& model, std::span<const Slice<T>> slices, std::vector<Piece<T>>& pieces) {
  pieces.clear();
  std::size_t total = 0;
  for (const auto& slice : slices) total += slice.values.size();
  if (total == model.size() && !names_other_places(model, slices)) {
    std::size_t first = 0;
    for (const auto& slice : slices) {
      cut(model, first, slice.values.size(), slice.values.data(), pieces);
      first += slice.values.size();
    }
    return;
  }
  for (const auto& slice : slices) {
    const std::size_t part = model.part_named(slice.name);
    if (part == model.parts().size()) {
      throw PreconditionError(
          "pactrain: " + std::to_string(total) + " entries were passed but the model has " +
          std::to_string(model.size()) +
          (slice.name.empty() ? " (a slice without a name can only be reduced with all the others)"
                              : ", and no part is called '" + slice.name + "'") +
          "; pass all of the model, or whole parts by the names they were introduced with");
    }
    const Part& place = model.parts()[part];
    if (place.size != slice.values.size()) {
      throw PreconditionError("pactrain: '" + slice.name + "' has " +
                              std::to_string(slice.values.size()) + " entries but had " +
                              std::to_string(place.size) +
                              " (masks and residuals are kept by position); pass the same "
                              "parameter, or make a new reducer");
    }
    cut(model, place.first, place.size, slice.values.data(), pieces);
  }
  std::ranges::sort(pieces, {}, &Piece<T>::first);
  const auto twice = std::ranges::adjacent_find(pieces, {}, &Piece<T>::first);
  expects(twice == pieces.end(), [&] {
    return "'" + model.parts()[twice->part].name + "' is passed twice; pass each part once";
  });
}

/// Throws `PreconditionError` if a piece is in memory that the executor says its kernels do not
/// reach; an executor that does not know (`reaches`) is not asked.
template <class E, class T>
void expect_reachable(E& exec, const Model& model, std::span<const Piece<T>> pieces) {
  if constexpr (requires(const T* x) { exec.reaches(x); }) {
    for (const Piece<T>& piece : pieces) {
      expects(exec.reaches(piece.data), [&] {
        return "the gradient of '" + model.parts()[piece.part].name +
               "' is in memory that kernels of this backend do not reach (host memory, or another "
               "device's); pass a pointer of this device, or use a backend of the host";
      });
    }
  }
}

}  // namespace pactrain

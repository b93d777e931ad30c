// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/slices.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pactrain {

/// The number of a training step, from 0.
using Step = std::uint64_t;

/// A parameter of a model: its name and its place in the model seen as one vector; a matrix has
/// more than one of `rows`.
struct Part {
  std::string name;
  std::size_t first = 0, size = 0, rows = 0;
};

/// A run of entries that lie in one part and in one slice of memory: `data` is its first value (or
/// null where only positions matter), `at` its place in the part, `first` its place in the model.
template <class T>
struct Piece {
  std::size_t part = 0, at = 0, first = 0, size = 0;
  T* data = nullptr;

  [[nodiscard]] std::span<T> values() const { return {data, size}; }
  [[nodiscard]] Piece<const T> as_const() const { return {part, at, first, size, data}; }
};

/// A model's layout: named parts that follow each other.
class Model {
 public:
  Model() = default;

  /// Throws `PreconditionError` for a name that there is already, or rows that do not fit.
  void add(std::string name, std::size_t size, std::size_t rows = 0) {
    if (name.empty()) name = "parameter " + std::to_string(parts_.size());
    expects(rows <= 1 || size % rows == 0, [&] {
      return "'" + name + "' has " + std::to_string(size) + " entries and " + std::to_string(rows) +
             " rows (a matrix has as many entries in every row); pass the number of its rows";
    });
    expects(numbers_.emplace(name, parts_.size()).second, [&] {
      return "two parameters are called '" + name +
             "' (each is found by its name); give every one a name of its own, or none";
    });
    parts_.push_back({std::move(name), size_, size, rows});
    size_ += size;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const Part> parts() const noexcept { return parts_; }
  /// The part that position `position` lies in. Precondition: position < size().
  [[nodiscard]] std::size_t part_at(std::size_t position) const {
    const auto after = std::upper_bound(
        parts_.begin(), parts_.end(), position,
        [](std::size_t p, const Part& part) { return p < part.first + part.size; });
    return static_cast<std::size_t>(after - parts_.begin());
  }
  /// The part called `name`, or the number of parts where there is none.
  [[nodiscard]] std::size_t part_named(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? parts_.size() : found->second;
  }
  /// "entry 7 of 'fc1.weight'", for messages.
  [[nodiscard]] std::string describe(std::size_t position) const {
    if (position >= size_) return "entry " + std::to_string(position);
    const Part& part = parts_[part_at(position)];
    return "entry " + std::to_string(position - part.first) + " of '" + part.name + "'";
  }
  /// A hash of the names and sizes of all parts, in order: equal for equal layouts.
  [[nodiscard]] std::uint64_t fingerprint() const {
    std::uint64_t sum = parts_.size();
    for (const Part& part : parts_) {
      for (const char c : part.name) sum = kernel::mix(sum, static_cast<unsigned char>(c));
      sum = kernel::mix(sum, part.size);
    }
    return sum;
  }
  /// A hash of the rows of all parts.
  [[nodiscard]] std::uint64_t shapes() const {
    std::uint64_t sum = parts_.size();
    for (const Part& part : parts_) sum = kernel::mix(sum, part.rows > 1 ? part.rows : 0);
    return sum;
  }

 private:
  std::vector<Part> parts_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  ///< of the parts
  std::size_t size_ = 0;
};

/// Appends to `pieces` the run [first, first + size) of the model, cut at the edges of its parts.
template <class T>
void cut(const Model& model, std::size_t first, std::size_t size, T* data,
         std::vector<Piece<T>>& pieces) {
  while (size > 0) {
    const std::size_t part = model.part_at(first);
    const Part& in = model.parts()[part];
    const std::size_t count = std::min(size, in.first + in.size - first);
    pieces.push_back({part, first - in.first, first, count, data});
    if (data != nullptr) data += count;
    first += count;
    size -= count;
  }
}

/// The read-only values of a whole model, of a type known at run time: what a policy ranks. It
/// refers to the caller's memory, which must outlive it and stay where it is.
class Values {
 public:
  struct Part {
    std::string name;
    const void* data = nullptr;
    std::size_t size = 0, rows = 0;
  };

  Values() = default;
  /// From a list of slices, a vector, a span, or whatever `as_span` accepts.
  template <Sliceable X>
    requires(!std::same_as<std::remove_cvref_t<X>, Values>)
  Values(X&& x) : type_(value_type<std::remove_cv_t<slice_value_t<X>>>) {
    with_slices(x, [&](auto slices) {
      for (const auto& slice : slices) {
        parts_.push_back({slice.name, slice.values.data(), slice.values.size(), slice.rows});
      }
    });
  }

  [[nodiscard]] bool empty() const noexcept { return parts_.empty(); }
  [[nodiscard]] ValueType type() const noexcept { return type_; }
  [[nodiscard]] std::span<const Part> parts() const noexcept { return parts_; }
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t total = 0;
    for (const Part& part : parts_) total += part.size;
    return total;
  }
  /// Part `part` as values of type T. Precondition: T is what `type()` numbers.
  template <GradientValue T>
  [[nodiscard]] std::span<const T> as(std::size_t part) const {
    return {static_cast<const T*>(parts_[part].data), parts_[part].size};
  }

 private:
  std::vector<Part> parts_;
  ValueType type_ = ValueType::float32;
};

/// The layout that a list of values has.
inline Model model_of(const Values& values) {
  Model model;
  for (const auto& part : values.parts()) model.add(part.name, part.size, part.rows);
  return model;
}

}  // namespace pactrain

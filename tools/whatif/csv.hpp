// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace pactrain::tools {

/// A table of comma-separated values: numbers, looked up by the names in its first line.
class Csv {
 public:
  /// Throws `InputError` where a line has not as many fields as the first, or there is none.
  explicit Csv(std::istream& in);

  [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }
  [[nodiscard]] bool has(std::string_view column) const;
  /// The numbers of a column; throws `InputError` for a column that is missing, and for a field
  /// that is no finite number of 0 or more.
  [[nodiscard]] std::vector<double> numbers(std::string_view column) const;

 private:
  struct Row {
    std::size_t line;
    std::vector<std::string> fields;
  };

  [[nodiscard]] std::size_t place_of(std::string_view column) const;

  std::vector<std::string> names_;
  std::vector<Row> rows_;
};

}  // namespace pactrain::tools

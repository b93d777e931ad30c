// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "csv.hpp"

#include "measured.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace pactrain::tools {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\"";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    fields.emplace_back(trimmed(line.substr(at, end - at)));
    at = end + 1;
  }
  return fields;
}

/// A piece of a file, for a message: short, and without what a terminal would act on.
std::string shown(std::string_view text) {
  std::string all = "'";
  for (const char c : text.substr(0, 40)) {
    all += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? '?' : c;
  }
  return all + (text.size() > 40 ? "...'" : "'");
}

}  // namespace

Csv::Csv(std::istream& in) {
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    const std::string_view text = trimmed(line);
    if (text.empty() || text.starts_with('#')) continue;
    std::vector<std::string> fields = fields_of(line);
    if (names_.empty()) {
      names_ = std::move(fields);
    } else if (fields.size() != names_.size()) {
      throw InputError("line " + std::to_string(number) + " has " + std::to_string(fields.size()) +
                       " fields where the first line names " + std::to_string(names_.size()) +
                       "; give every line as many, without commas inside");
    } else {
      rows_.push_back({number, std::move(fields)});
    }
  }
  if (names_.empty()) throw InputError("the file is empty; its first line names the columns");
}

std::size_t Csv::place_of(std::string_view column) const {
  return static_cast<std::size_t>(std::ranges::find(names_, column) - names_.begin());
}

bool Csv::has(std::string_view column) const { return place_of(column) < names_.size(); }

std::vector<double> Csv::numbers(std::string_view column) const {
  const std::size_t place = place_of(column);
  if (place == names_.size()) {
    throw InputError("no column is called '" + std::string(column) + "' (the first line is " +
                     shown(names_.front()) + " ...); name the columns in the first line");
  }
  std::vector<double> all;
  for (const Row& row : rows_) {
    const std::string& field = row.fields[place];
    double x = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), x);
    if (error != std::errc{} || end != field.data() + field.size() || !std::isfinite(x) || x < 0) {
      throw InputError("line " + std::to_string(row.line) + ": " + shown(field) + " in column " +
                       std::string(column) +
                       " is no number from 0 on; write it in digits, like 1.5e6");
    }
    all.push_back(x);
  }
  return all;
}

}  // namespace pactrain::tools

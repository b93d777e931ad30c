// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/units.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace pactrain {

/// Cuts calls into units and keeps the table in executor memory until a call of other sizes comes.
template <Executor E>
class UnitTable {
 public:
  /// At most `length` values a unit, `block` values a scale (0: one scale per parameter), `bits`
  /// bits a code.
  UnitTable(std::size_t block, std::size_t length, std::size_t bits = 8)
      : block_(block != 0 ? block : std::numeric_limits<std::size_t>::max()),
        length_(length),
        bits_(bits) {}

  [[nodiscard]] std::size_t scale_count(std::span<const PackedPart> parts) const {
    std::size_t scales = 0;
    for (const PackedPart& part : parts) scales += kernel::pieces_of(part.size, block_);
    return scales;
  }
  [[nodiscard]] std::size_t code_bytes(std::span<const PackedPart> parts) const {
    std::size_t bytes = 0;
    for (const PackedPart& part : parts) bytes += code_bytes(part.size);
    return bytes;
  }
  [[nodiscard]] const kernel::Units& cut(E& exec, std::span<const PackedPart> parts) {
    if (!std::ranges::equal(parts, parts_)) rebuild(exec, parts);
    return units_;
  }

 private:
  /// Of the values of one parameter.
  [[nodiscard]] std::size_t code_bytes(std::size_t size) const {
    const std::size_t blocks = size / block_;
    return (blocks > 0 ? blocks * kernel::code_bytes(block_, bits_) : 0) +
           kernel::code_bytes(size % block_, bits_);
  }
  void rebuild(E& exec, std::span<const PackedPart> parts) {
    parts_.clear();  // so that a failure below leaves no stale match
    runs_.clear();
    units_ = {.block = block_, .length = length_, .bits = bits_};
    std::size_t code = 0;
    for (const PackedPart& part : parts) {
      if (part.size == 0) continue;
      runs_.push_back({part.part, part.first, part.size, units_.count, units_.scale_count, code});
      const std::size_t blocks = part.size / block_, rest = part.size % block_;
      units_.count += (blocks > 0 ? blocks * kernel::pieces_of(block_, length_) : 0) +
                      kernel::pieces_of(rest, length_);
      units_.scale_count += kernel::pieces_of(part.size, block_);
      code += code_bytes(part.size);
    }
    units_.run_count = runs_.size();
    if (runs_.size() == 1) units_.only = runs_[0];
    if (runs_.size() > 1) {
      const auto table = scratch_.template take<kernel::UnitRun>(exec, runs_.size());
      exec.write(std::span<const kernel::UnitRun>(runs_), table);
      units_.runs = table.data();
    }
    parts_.assign(parts.begin(), parts.end());
  }

  std::size_t block_, length_, bits_;
  std::vector<PackedPart> parts_;
  std::vector<kernel::UnitRun> runs_;
  kernel::Units units_;
  Scratch<E> scratch_;
};

}  // namespace pactrain

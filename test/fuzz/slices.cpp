// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gradient cut in any way, in any number of calls: the same bits as in one piece, or an error
// that leaves it as it was.
#include <pactrain/pactrain.hpp>

#include <fuzz/input.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

constexpr std::size_t sizes[] = {3, 0, 64, 61};
constexpr std::size_t entries = 128;
using Reducer = SparseAllReduce<Pruned, BitMask, HostBackend>;

std::vector<Slice<float>> introduced(std::span<float> values) {
  std::vector<Slice<float>> slices;
  std::size_t first = 0;
  for (std::size_t i = 0; i < std::size(sizes); first += sizes[i++]) {
    slices.push_back({"p" + std::to_string(i), values.subspan(first, sizes[i])});
  }
  return slices;
}

/// Do slices that go by their order lie elsewhere than there? No library can know; the entries are
/// then reduced as others.
bool misplaced(std::span<const Slice<float>> slices, std::span<const float> values) {
  std::size_t total = 0;
  bool elsewhere = false;
  for (const auto& slice : slices) {
    elsewhere = elsewhere || slice.values.data() != values.data() + total;
    total += slice.values.size();
  }
  return total == values.size() && elsewhere;
}

/// Is a slice called as the part that it is?
bool named_right(const Slice<float>& slice, std::span<float> values) {
  return std::ranges::any_of(introduced(values), [&](const auto& part) {
    return part.name == slice.name && part.values.data() == slice.values.data() &&
           part.values.size() == slice.values.size();
  });
}

/// Slices under any names, right or wrong, of `values` or of a part of it.
std::vector<Slice<float>> cut(std::span<float> values, FuzzInput& input) {
  std::vector<Slice<float>> slices;
  const std::size_t count = input.below(7);
  if (input.below(2) == 0) {  // runs that follow each other
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t n = std::min(input.below(90), values.size());
      slices.push_back({"", values.first(i + 1 == count ? values.size() : n)});
      values = values.subspan(slices.back().values.size());
    }
    return slices;
  }
  const auto parts = introduced(values);
  for (std::size_t i = 0; i < count; ++i) {
    Slice<float> slice = parts[input.below(parts.size())];
    const std::size_t oddity = input.below(16);
    if (oddity == 0) slice.name = "p" + std::to_string(input.below(6));
    if (oddity == 1) slice.name.clear();
    if (oddity == 2) slice.values = slice.values.first(input.below(slice.values.size() + 1));
    slices.push_back(slice);
  }
  return slices;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  std::vector<int> flags(entries);
  const std::uint64_t bits[] = {input.take<std::uint64_t>(), input.take<std::uint64_t>()};
  for (std::size_t i = 0; i < entries; ++i) flags[i] = (bits[i / 64] >> i % 64 & 1) != 0 ? 1 : 0;
  HostBackend backend;
  Reducer reduce{backend, Pruned::from_flags(flags)};
  std::vector<float> gradient(entries), expected(entries);
  const auto reset = [&] {
    for (std::size_t i = 0; i < entries; ++i) {
      gradient[i] = static_cast<float>(i + 1);
      expected[i] = flags[i] != 0 ? gradient[i] : 0.0f;
    }
  };
  reset();
  reduce(introduced(gradient));
  must(gradient == expected, "one rank's mean is its gradient where kept");

  std::vector<bool> reduced(entries, false);
  reset();
  Step step = reduce.step();
  while (!input.empty()) {
    const std::vector<float> before = gradient;
    const auto slices = cut(gradient, input);
    const bool odd = std::ranges::any_of(
        slices, [&](const auto& slice) { return !named_right(slice, gradient); });
    if (odd && misplaced(slices, gradient)) continue;
    try {
      reduce(slices);
    } catch (const PreconditionError&) {
      must(gradient == before, "a refused call changes nothing");
      must(reduce.step() == step, "nor does it count");
      continue;
    }
    for (const auto& slice : slices) {
      const auto first = static_cast<std::size_t>(slice.values.data() - gradient.data());
      for (std::size_t i = first; i < first + slice.values.size(); ++i) {
        must(!reduced[i], "no entry is reduced twice in a step");
        must(gradient[i] == expected[i], "an entry is kept or zero, however it was passed");
        reduced[i] = true;
      }
    }
    if (reduce.step() == step) continue;
    must(std::ranges::find(reduced, false) == reduced.end(), "a step ends when all are reduced");
    must(gradient == expected, "the same bits as in one piece");
    step = reduce.step();
    reduced.assign(entries, false);
    reset();
  }
  return 0;
}

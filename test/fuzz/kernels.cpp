// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any words, any place, any values: the kernels of every level do what a plain loop does.
#include <pactrain/core/value_type.hpp>
#include <pactrain/host/simd.hpp>

#include <fuzz/input.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Vectors are of exactly the size that may be touched, so that a sanitizer sees what lies behind.
template <class T>
void check(FuzzInput input) {
  const std::size_t first = input.below(130), n = input.below(700);
  std::vector<std::uint64_t> words((first + n + 63) / 64);
  for (auto& word : words) word = input.take<std::uint64_t>();
  std::vector<T> dense(n);
  for (T& x : dense) x = input.take<T>();

  const auto kept = [&](std::size_t i) {
    return (words[(first + i) / 64] >> (first + i) % 64 & 1) != 0;
  };
  std::vector<T> packed, expanded(n), cleared = dense;
  bool finite = true, stray = false;
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_zero = magnitude(dense[i]) == magnitude(T{});
    if (kept(i)) packed.push_back(expanded[i] = dense[i]);
    else cleared[i] = T{};
    finite = finite && is_finite(dense[i]);
    stray = stray || (!kept(i) && !is_zero);
  }

  for (const simd::Level level : simd::all_levels) {
    if (level > simd::best_level()) break;
    std::vector<T> out(packed.size()), back(n), clear = dense;
    bool non_finite = false;
    const std::size_t count =
        simd::compress(level, words.data(), first, n, dense.data(), out.data(), &non_finite);
    must(count == packed.size() && same(out, packed), "compress keeps what the words say");
    must(non_finite == !finite, "compress finds what is not finite");
    std::ranges::fill(out, T{});
    simd::compress(level, words.data(), first, n, dense.data(), out.data());
    must(same(out, packed), "compress does the same without the scan");
    simd::expand(level, words.data(), first, n, packed.data(), back.data());
    must(same(back, expanded), "expand is the reverse, with zeros");
    simd::clear_unkept(level, words.data(), first, n, clear.data());
    must(same(clear, cleared), "clear_unkept clears what is not kept");
    must(simd::any_stray(level, words.data(), first, n, dense.data()) == stray, "strays are seen");
    must(simd::all_finite(level, dense.data(), n) == finite, "all_finite looks at all");
    if (n == 0) continue;

    const std::size_t k = 1 + (first + words.size()) % n;
    std::vector<bits_t<T>> ranked;
    for (const T& x : dense) ranked.push_back(magnitude(x));
    std::ranges::sort(ranked, std::greater<>{});
    simd::Workspace workspace;
    const std::span<const T> parts[] = {std::span(dense).first(n / 3),
                                        std::span(dense).subspan(n / 3)};
    const auto bar = simd::kth_largest<T>(level, parts, k, workspace);
    must(bar.bar == ranked[k - 1], "the k-th largest is the k-th of all, sorted");
    const auto above = std::ranges::lower_bound(ranked, ranked[k - 1], std::greater<>{});
    must(bar.above == static_cast<std::size_t>(above - ranked.begin()), "and so many lie above");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  switch (input.below(4)) {
    case 0:
      check<float>(input);
      break;
    case 1:
      check<double>(input);
      break;
    case 2:
      check<float16>(input);
      break;
    default:
      check<bfloat16>(input);
  }
  return 0;
}

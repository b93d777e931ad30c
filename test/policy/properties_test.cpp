// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/plain_executor.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/algorithm/select_largest.hpp>
#include <pactrain/host/executor.hpp>
#include <pactrain/policy/fraction.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/track_zeros.hpp>

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

/// Bit patterns with few different magnitudes, NaNs among them.
std::vector<float16> arbitrary_halves() {
  std::vector<float16> values;
  for (const auto bits :
       *rc::gen::container<std::vector<std::uint16_t>>(rc::gen::element<std::uint16_t>(
           0, 1, 2, 0x8000, 0x8002, 0x3c00, 0xbc00, 0x7c00, 0xfe01))) {
    values.push_back(float16::from_bits(bits));
  }
  return values;
}

/// What `select_largest` keeps of `values`, cut into runs, of those whose bit is set.
template <class E>
Flags selected(E& exec, const std::vector<float16>& values, const std::vector<std::size_t>& runs,
               const std::vector<kernel::Word>& words, std::size_t k) {
  std::vector<Ranked<float16>> ranked;
  std::size_t at = 0;
  for (const std::size_t n : runs) {
    ranked.push_back(
        {std::span(values).subspan(at, n), {words.empty() ? nullptr : words.data(), at}});
    at += n;
  }
  std::vector<kernel::Cut<float16>> cuts(ranked.size());
  Scratch<E> scratch;
  select_largest(exec, std::span<const Ranked<float16>>(ranked), k, std::span(cuts), scratch);
  Flags flags;
  for (std::size_t run = 0; run < ranked.size(); ++run) {
    const kernel::KeepLargest<float16> keep{ranked[run].values.data(), ranked[run].among,
                                            cuts[run]};
    for (std::size_t i = 0; i < runs[run]; ++i) flags.push_back(keep(i) ? 1 : 0);
  }
  return flags;
}

TEST_CASE("the largest of any values, in any cut, are those of a sort") {
  CHECK(rc::check([] {
    const auto values = arbitrary_halves();
    std::vector<std::size_t> runs;
    for (std::size_t left = values.size(); left > 0; left -= runs.back()) {
      if (*rc::gen::arbitrary<bool>()) runs.push_back(0);
      runs.push_back(*rc::gen::inRange<std::size_t>(1, left + 1));
    }
    const auto k = *rc::gen::inRange<std::size_t>(0, values.size() + 2);
    Flags expected(values.size());
    keep_by_sort(values, 0, values.size(), k, expected);
    HostExecutor fast;
    PlainExecutor plain;
    RC_ASSERT(selected(fast, values, runs, {}, k) == expected);
    RC_ASSERT(selected(plain, values, runs, {}, k) == expected);
  }));
}

TEST_CASE("what takes no part is neither kept nor in the way") {
  CHECK(rc::check([] {
    const auto values = arbitrary_halves();
    std::vector<kernel::Word> words(kernel::words_for(values.size()) + 1);
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (*rc::gen::arbitrary<bool>()) {
        words[i / 64] |= kernel::Word{1} << i % 64;
        left.push_back(i);
      }
    }
    RC_PRE(!left.empty());
    const auto k = *rc::gen::inRange<std::size_t>(0, left.size() + 1);
    std::vector<float16> some;
    for (const std::size_t i : left) some.push_back(values[i]);
    Flags among(some.size()), expected(values.size());
    keep_by_sort(some, 0, some.size(), k, among);
    for (std::size_t i = 0; i < left.size(); ++i) expected[left[i]] = among[i];
    HostExecutor fast;
    PlainExecutor plain;
    RC_ASSERT(selected(fast, values, {values.size()}, words, k) == expected);
    RC_ASSERT(selected(plain, values, {values.size()}, words, k) == expected);
  }));
}

TEST_CASE("a decimal fraction of n counts as the integers do") {
  CHECK(rc::check([](std::uint32_t n) {
    const auto thousandths = *rc::gen::inRange<std::uint64_t>(0, 1001);
    RC_ASSERT(fraction_of(n, static_cast<double>(thousandths) / 1000) == n * thousandths / 1000);
    RC_ASSERT(fraction_of(n, 1 - static_cast<double>(1000 - thousandths) / 1000) ==
              n * thousandths / 1000);
  }));
}

TEST_CASE("indices and flags are the same mask") {
  CHECK(rc::check([](const std::vector<bool>& flags) {
    std::vector<std::uint32_t> indices;
    for (std::size_t i = 0; i < flags.size(); ++i) {
      if (flags[i]) indices.push_back(static_cast<std::uint32_t>(i));
    }
    RC_ASSERT(Pruned::from_flags(flags).fingerprint() ==
              Pruned::from_indices(flags.size(), indices).fingerprint());
  }));
}

TEST_CASE("the schedule never falls") {
  CHECK(rc::check([] {
    const auto a = *rc::gen::inRange(0, 1000), b = *rc::gen::inRange(a, 1000);
    const auto begin = *rc::gen::inRange<Step>(0, 100);
    const GradualMagnitude options{.weights = {},
                                   .initial_sparsity = a / 1000.0,
                                   .final_sparsity = b / 1000.0,
                                   .begin = begin,
                                   .end = begin + *rc::gen::inRange<Step>(0, 300)};
    for (Step step = 0; step < 420; ++step) {
      RC_ASSERT(options.sparsity_at(step) <= options.sparsity_at(step + 1));
    }
    RC_ASSERT(options.sparsity_at(begin + 400) == options.final_sparsity);
  }));
}

TEST_CASE("a tracker learns what was zero in every observation") {
  CHECK(rc::check([] {
    const auto n = *rc::gen::inRange<std::size_t>(1, 200);
    const auto patience = *rc::gen::inRange<std::uint64_t>(1, 4);
    HostExecutor exec;
    TrackZeros::on<HostExecutor> policy(TrackZeros{.patience = patience});
    Flags zeros(n, 1);
    std::uint64_t unchanged = 0;
    bool seen = false, learned = false;
    for (int step = 0; step < 12; ++step) {
      std::vector<float> values(n);
      for (float& x : values) x = *rc::gen::inRange(0, 20) == 0 ? 1.0f : 0.0f;
      const Net<float, HostExecutor> net(exec, {n}, values);
      const auto pieces = net.shredded(static_cast<std::uint64_t>(step));
      policy.observe(exec, net.model, std::span<const Piece<const float>>(pieces), 0);
      if (!learned) {
        const Flags before = zeros;
        for (std::size_t i = 0; i < n; ++i) {
          if (values[i] != 0) zeros[i] = 0;
        }
        if (seen) unchanged = zeros == before ? unchanged + 1 : 0;
        seen = true;
        learned = unchanged >= patience;
      }
      Flags expected(n, 1);
      for (std::size_t i = 0; i < n; ++i) expected[i] = learned && zeros[i] != 0 ? 0 : 1;
      RC_ASSERT(answers(exec, policy, net.model, net.whole()) == expected);
    }
  }));
}

}  // namespace

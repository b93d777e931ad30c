// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/values.hpp>
#include <suite/world.hpp>

#include <pactrain/core/executor.hpp>
#include <pactrain/kernel/bits.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// What every executor must do: the three patterns, copies, and, where it has them, fast paths that
/// give what a serial loop gives, bit for bit.
namespace pactrain::test::executor {

/// Around the edges of words and groups, and large enough that every thread has a share.
inline constexpr std::size_t sizes[] = {0, 1, 2, 63, 64, 65, 511, 512, 513, 1000, 70001};

struct Square {
  std::uint64_t* out;
  PACTRAIN_FN void operator()(std::size_t i) const { out[i] = i * i; }
};
struct Mixed {
  PACTRAIN_FN std::uint64_t operator()(std::size_t i) const { return kernel::mix(i, 3); }
};
struct Small {
  PACTRAIN_FN std::size_t operator()(std::size_t i) const { return kernel::mix(i, 5) % 4; }
};

template <class E>
void buffers_are_aligned_and_owned() {
  E exec;
  for (const std::size_t n : sizes) {
    auto buffer = exec.template make_buffer<double>(n);
    CHECK(buffer.size() == n);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0);
    double* const data = buffer.data();
    const auto moved = std::move(buffer);
    CHECK(moved.data() == data);
  }
}

template <class E>
void for_each_visits_every_index() {
  E exec;
  for (const std::size_t n : sizes) {
    const Array<std::uint64_t, E> out(exec, n, 7);
    exec.for_each(n, Square{out.span().data()});
    exec.fence();
    const auto got = out.read();
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) right &= got[i] == i * i;
    CHECK(right);
  }
}

template <class E>
void reduce_combines_all() {
  E exec;
  const Array<std::uint64_t, E> out(exec, 3);
  const auto at = [&](std::size_t i) {
    return std::span<std::uint64_t, 1>(out.span().subspan(i, 1));
  };
  for (const std::size_t n : sizes) {
    std::uint64_t sum = 11, largest = 5, any = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t x = Mixed{}(i);
      sum += x;
      largest = std::max(largest, x);
      any |= x;
    }
    exec.reduce(n, std::uint64_t{11}, Mixed{}, kernel::Add{}, at(0));
    exec.reduce(n, std::uint64_t{5}, Mixed{}, kernel::Largest{}, at(1));
    exec.reduce(n, std::uint64_t{0}, Mixed{}, kernel::Or{}, at(2));
    const auto got = out.read();
    CHECK(got[0] == sum);
    CHECK(got[1] == largest);
    CHECK(got[2] == any);
  }
}

template <class E>
void scan_sums_what_is_before() {
  E exec;
  for (const std::size_t n : sizes) {
    const Array<std::size_t, E> before(exec, n), total(exec, 1);
    exec.scan(n, Small{}, before.span(), std::span<std::size_t, 1>(total.span()));
    const auto got = before.read();
    std::size_t sum = 0;
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
      right &= got[i] == sum;
      sum += Small{}(i);
    }
    CHECK(right);
    CHECK(total.read()[0] == sum);
  }
}

template <class E>
void copies_move_values() {
  E exec;
  for_gradient_types([&]<class T>() {
    for (const std::size_t n : sizes) {
      const std::vector<T> values = values_of<T>(0, n);
      const Array<T, E> from(exec, std::span<const T>(values), 1), to(exec, n);
      exec.copy(from.view(), to.span());
      exec.fence();
      CHECK(same_bits(to.read(), values));
    }
  });
}

/// A mask in an executor's memory, and as a serial loop sees it.
template <class E>
struct TestMask {
  TestMask(E& exec, std::size_t n, unsigned percent)
      : words(kernel::words_for(n) + 1), before(kernel::groups_for(n) + 1) {
    for (std::size_t p = 0; p < n; ++p) {
      const bool kept = kernel::mix(p, percent) % 100 < percent;
      words[p / 64] |= kernel::Word{kept} << p % 64;
    }
    for (std::size_t g = 1; g < before.size(); ++g) {
      before[g] = before[g - 1] + kernel::CountGroup{words.data(), words.size()}(g - 1);
    }
    device_words.emplace_back(exec, std::span<const kernel::Word>(words));
    device_before.emplace_back(exec, std::span<const std::size_t>(before));
  }
  [[nodiscard]] kernel::Bits host() const { return {words.data(), before.data()}; }
  [[nodiscard]] kernel::Bits device() const {
    return {device_words[0].span().data(), device_before[0].span().data()};
  }
  std::vector<kernel::Word> words;
  std::vector<std::size_t> before;
  std::vector<Array<kernel::Word, E>> device_words;
  std::vector<Array<std::size_t, E>> device_before;
};

/// Calls `f(mask, first, dense)` for slices that start and end anywhere, at all densities.
template <class T, class E, class F>
void for_slices(E& exec, F f) {
  const std::pair<std::size_t, std::size_t> slices[] = {
      {0, 0}, {0, 1}, {3, 60}, {3, 61}, {3, 62}, {64, 64}, {65, 447}, {1, 1000}, {600, 70001}};
  for (const unsigned percent : {0u, 1u, 50u, 99u, 100u}) {
    const TestMask<E> mask(exec, 71000, percent);
    for (const auto& [first, n] : slices) {
      CAPTURE(percent);
      CAPTURE(first);
      CAPTURE(n);
      f(mask, first, values_of<T>(static_cast<int>(percent), n));
    }
  }
}

template <class E>
void masks_pack_and_unpack() {
  if constexpr (requires(E& exec, kernel::Bits bits, std::span<const float> dense, float* packed) {
                  exec.compress(bits, std::size_t{}, dense, packed, std::size_t{}, nullptr);
                }) {
    E exec;
    for_gradient_types([&]<class T>() {
      for_slices<T>(exec, [&](const auto& mask, std::size_t first, const std::vector<T>& dense) {
        const std::size_t base = mask.host().slot(first) / 2;
        const std::size_t skipped = mask.host().slot(first) - base;
        std::vector<T> packed(skipped), expanded(dense.size());
        for (std::size_t i = 0; i < dense.size(); ++i) {
          if (!mask.host()(first + i)) continue;
          packed.push_back(dense[i]);
          expanded[i] = dense[i];
        }
        const std::size_t guards = 16;
        packed.resize(packed.size() + guards, value_of<T>(9, 9));
        std::vector<T> blank(packed.size());
        std::fill(blank.end() - static_cast<std::ptrdiff_t>(guards), blank.end(),
                  value_of<T>(9, 9));
        const Array<T, E> in(exec, std::span<const T>(dense)), out(exec, std::span<const T>(blank));
        const Array<std::uint32_t, E> flag(exec, 1);
        exec.compress(mask.device(), first, in.view(), out.span().data(), base, flag.span().data());
        exec.fence();
        CHECK(same_bits(out.read(), packed));
        CHECK(flag.read()[0] == 0);
        const Array<T, E> back(exec, dense.size(), value_of<T>(8, 8));
        exec.expand(mask.device(), first, out.view().data(), base, back.span());
        exec.fence();
        CHECK(same_bits(back.read(), expanded));
      });
    });
  }
}

/// One value that is not finite, or strays from the mask, wherever it stands.
template <class E>
void flags_are_raised() {
  if constexpr (requires(E& exec, std::span<const float> dense, std::uint32_t* flag) {
                  exec.find_non_finite(dense, flag);
                  exec.find_stray(kernel::Bits{}, std::size_t{}, dense, flag);
                }) {
    E exec;
    for_gradient_types([&]<class T>() {
      using A = arithmetic_t<T>;
      const std::size_t n = 70001, first = 37;
      const TestMask<E> mask(exec, first + n, 50);
      std::vector<T> clean = values_of<T>(0, n);
      for (std::size_t i = 0; i < n; ++i) clean[i] = mask.host()(first + i) ? clean[i] : T{};
      for (const std::size_t at :
           {n, std::size_t{0}, std::size_t{26}, std::size_t{27}, n / 2, n - 1}) {
        CAPTURE(at);
        std::vector<T> bad = clean, stray = clean;
        if (at < n) bad[at] = static_cast<T>(-std::numeric_limits<A>::infinity());
        std::size_t off = at;
        while (off < n && mask.host()(first + off)) off = (off + 1) % n;
        if (off < n) stray[off] = value_of<T>(1, 1);
        const Array<T, E> x(exec, std::span<const T>(bad)), y(exec, std::span<const T>(stray));
        const Array<T, E> packed(exec, n);
        const Array<std::uint32_t, E> flags(exec, 4);
        exec.find_non_finite(x.view(), &flags.span()[0]);
        exec.compress(mask.device(), first, x.view(), packed.span().data(), mask.host().slot(first),
                      &flags.span()[1]);
        exec.find_stray(mask.device(), first, y.view(), &flags.span()[2]);
        exec.find_non_finite(y.view(), &flags.span()[3]);
        exec.fence();
        const std::uint32_t raised = at < n ? 1 : 0;
        CHECK(flags.read() == std::vector<std::uint32_t>{raised, raised, raised, 0});
      }
    });
  }
}

template <class E>
void the_kth_largest_is_exact() {
  if constexpr (requires(E& exec, std::span<const std::span<const float>> parts) {
                  exec.kth_largest(parts, std::size_t{1});
                }) {
    E exec;
    for_gradient_types([&]<class T>() {
      const std::vector<T> a = values_of<T>(0, 5000), b = values_of<T>(1, 77);
      std::vector<bits_t<T>> all;
      for (const T x : a) all.push_back(magnitude(x));
      for (const T x : b) all.push_back(magnitude(x));
      std::sort(all.rbegin(), all.rend());
      const Array<T, E> on_a(exec, std::span<const T>(a)), on_b(exec, std::span<const T>(b));
      const std::span<const T> parts[] = {on_a.view(), on_b.view()};
      for (const std::size_t k : {std::size_t{1}, std::size_t{2}, std::size_t{500}, all.size()}) {
        const auto bar = exec.kth_largest(std::span<const std::span<const T>>(parts), k);
        CHECK(bar.bar == all[k - 1]);
        CHECK(bar.above ==
              static_cast<std::size_t>(std::count_if(all.begin(), all.end(),
                                                     [&](bits_t<T> x) { return x > all[k - 1]; })));
      }
    });
  }
}

TEST_CASE_TEMPLATE_DEFINE("executor", E, executor_suite) {
  SUBCASE("buffers are aligned and owned") { buffers_are_aligned_and_owned<E>(); }
  SUBCASE("for_each visits every index") { for_each_visits_every_index<E>(); }
  SUBCASE("reduce combines all") { reduce_combines_all<E>(); }
  SUBCASE("scan sums what is before") { scan_sums_what_is_before<E>(); }
  SUBCASE("copies move values") { copies_move_values<E>(); }
  SUBCASE("masks pack and unpack") { masks_pack_and_unpack<E>(); }
  SUBCASE("flags are raised") { flags_are_raised<E>(); }
  SUBCASE("the k-th largest is exact") { the_kth_largest_is_exact<E>(); }
}

}  // namespace pactrain::test::executor

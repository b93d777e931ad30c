// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <pactrain/core/random.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/host/fast_forms.hpp>
#include <pactrain/kernel/quantise.hpp>
#include <pactrain/kernel/quantise_rules.hpp>
#include <pactrain/kernel/ternary.hpp>
#include <pactrain/kernel/units.hpp>

#include <doctest/doctest.h>
#include <simd/support.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

/// Kernels of codecs by vector units against the kernels themselves, on every level.
using namespace pactrain;
using namespace pactrain::test;

namespace {

/// What the values of a case are like.
enum class Kind { normal, wide, constant, zeros, any };
constexpr Kind kinds[] = {Kind::normal, Kind::wide, Kind::constant, Kind::zeros, Kind::any};

/// Values at an odd address; with `any`, one in eight is anything at all, so that blocks differ.
std::vector<float> values(Kind kind, std::size_t n, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) {
    if (kind == Kind::normal || kind == Kind::any) v = normal(random);
    if (kind == Kind::wide) set_finite(v, random);
    if (kind == Kind::constant) v = -1.25f;
    if (random() % 16 == 0 && kind != Kind::wide) v = random() % 2 != 0 ? 0.0f : -0.0f;
  }
  if (kind == Kind::any) {
    for (std::size_t i = 0; i < n; i += 1 + random() % 400) set_any(x[i], random);
  }
  return x;
}
/// Bits of two results, NaNs taken as equal: which of two NaNs a sum keeps is the compiler's
/// choice.
bool alike(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool nans =
        magnitude(a[i]) > exponent_mask<float> && magnitude(b[i]) > exponent_mask<float>;
    if (!nans && !same(a[i], b[i])) return false;
  }
  return a.size() == b.size();
}
/// One parameter, whose first entry is `at`, in blocks of `block` and units of `length`.
struct Cut {
  std::size_t size, block, length;
  [[nodiscard]] kernel::Units units(std::size_t bits) const {
    kernel::Units units{.block = block, .length = length, .bits = bits};
    const std::size_t rest = size % block;
    units.count = size / block * kernel::pieces_of(block, length) + kernel::pieces_of(rest, length);
    units.scale_count = kernel::pieces_of(size, block);
    units.run_count = 1;
    units.only = {3, 0, size, 0, 0, 0};
    return units;
  }
  [[nodiscard]] std::size_t bytes(std::size_t bits) const {
    return size / block * kernel::code_bytes(block, bits) + kernel::code_bytes(size % block, bits);
  }
};
constexpr Cut cuts[] = {{0, 16, 16},        {1, 16, 16},        {15, 256, 256},
                        {4097, 256, 256},   {1000, 100, 100},   {700, 7, 7},
                        {5000, 4096, 4096}, {9999, 1024, 1024}, {5000, 5000, 1024}};

/// Runs a kernel, or its fast form.
template <class K>
void run(std::size_t n, const K& k) {
  for (std::size_t i = 0; i < n; ++i) k(i);
}
template <class K>
void run_fast(simd::Level level, std::size_t n, const K& k) {
  using Form = simd::FastForm<K>;
  Form form{n, k};
  form.level = level;
  for (std::size_t i = 0; i < (n + Form::grain - 1) / Form::grain; ++i) form(i);
}

/// Calls `body(level, cut, values, random)` for every case.
template <class Body>
void for_each_cut(Body body) {
  std::mt19937_64 random(7);
  for (const auto level : levels()) {
    CAPTURE(simd::name_of(level));
    for (const Cut& cut : cuts) {
      CAPTURE(cut.size);
      CAPTURE(cut.block);
      for (const Kind kind : kinds) {
        CAPTURE(static_cast<int>(kind));
        body(level, cut, values(kind, cut.size, random), random);
      }
    }
  }
}

template <class Rule>
void check_rule(const Rule& rule) {
  for_each_cut([&](simd::Level level, const Cut& cut, const std::vector<float>& x,
                   std::mt19937_64& random) {
    const kernel::Units units = cut.units(rule.bits());
    const std::size_t number_bytes = units.scale_count * rule.numbers() * sizeof(float);
    std::vector<std::byte> wire(number_bytes + cut.bytes(rule.bits())), fast(wire);
    const bool measured = cut.block > cut.length && rule.numbers() > 0;
    const auto encode = [&](std::vector<std::byte>& to, auto runs) {
      using Moments = typename Rule::template Moments<float>;
      if (measured) {
        std::vector<Moments> moments(units.count);
        runs(units.count, kernel::MeasureUnits<Rule, float>{rule, units, x.data(), moments.data()});
        run(units.scale_count,
            kernel::FinishBlocks<Rule, float>{rule, units, moments.data(), to.data()});
      }
      runs(units.count, kernel::EncodeUnits<Rule, float>{rule, units, measured, x.data(), to.data(),
                                                         to.data() + number_bytes, Random{}});
    };
    encode(wire, [](std::size_t n, const auto& k) { run(n, k); });
    encode(fast, [&](std::size_t n, const auto& k) { run_fast(level, n, k); });
    const std::size_t numbers = number_bytes / sizeof(float);
    std::vector<float> own(numbers), theirs(numbers);
    if (numbers > 0) std::memcpy(own.data(), wire.data(), number_bytes);
    if (numbers > 0) std::memcpy(theirs.data(), fast.data(), number_bytes);
    CHECK(alike(own, theirs));
    CHECK(std::equal(wire.begin() + static_cast<std::ptrdiff_t>(number_bytes), wire.end(),
                     fast.begin() + static_cast<std::ptrdiff_t>(number_bytes)));

    const std::vector<float> start = values(Kind::normal, cut.size, random);
    std::vector<float> sum = start, fast_sum = start;
    const auto decode = [&](float* to) {
      return kernel::DecodeUnits<Rule, float>{rule, units, wire.data(), wire.data() + number_bytes,
                                              to};
    };
    run(units.count, decode(sum.data()));
    run_fast(level, units.count, decode(fast_sum.data()));
    CHECK(alike(sum, fast_sum));
  });
}

TEST_CASE("codes by block") {
  check_rule(kernel::Int8Rule{});
  check_rule(kernel::Int4Rule{0.0});
  check_rule(kernel::Int4Rule{3.7});
  check_rule(kernel::Int4Rule{1e30});
  for (const bool two_means : {false, true}) {
    for (const bool zeros : {false, true}) check_rule(kernel::SignRule{two_means, zeros});
  }
}

TEST_CASE("ties and cuts of codes") {
  // Halves of steps, by which rounding to even shows, and what lies beyond the last step.
  std::vector<float> x;
  for (int i = -600; i <= 600; ++i) x.push_back(static_cast<float>(i) / 2);
  const kernel::Units units = Cut{x.size(), 4096, 4096}.units(4);
  for (const auto level : levels()) {
    const auto compare = [&](const auto& rule) {
      using Rule = std::remove_cvref_t<decltype(rule)>;
      std::vector<std::byte> wire(4 + x.size()), fast(4 + x.size());
      const auto encode = [&](std::byte* to) {
        return kernel::EncodeUnits<Rule, float>{rule, units, false, x.data(), to, to + 4, Random{}};
      };
      run(1, encode(wire.data()));
      run_fast(level, 1, encode(fast.data()));
      CHECK(wire == fast);
    };
    compare(kernel::Int4Rule{1.0});
    compare(kernel::Int4Rule{0.25});
    compare(kernel::Int4Rule{0.0});
    compare(kernel::Int8Rule{});
    x[0] = 127;
    compare(kernel::Int8Rule{});
  }
}

TEST_CASE("ternary digits, their scales and their sums") {
  for_each_cut([&](simd::Level level, const Cut& cut, const std::vector<float>& x,
                   std::mt19937_64& random) {
    const kernel::Units units = cut.units(8);
    for (const bool squares : {false, true}) {
      std::vector<kernel::Spread> spread(units.count), fast(units.count);
      run(units.count, kernel::MeasureSpread<float>{units, x.data(), squares, spread.data()});
      run_fast(level, units.count,
               kernel::MeasureSpread<float>{units, x.data(), squares, fast.data()});
      for (std::size_t i = 0; i < units.count; ++i) {
        CHECK(spread[i].largest == fast[i].largest);
        CHECK(spread[i].squares == fast[i].squares);
      }
    }
    std::vector<float> scales(units.scale_count);
    for (float& s : scales) s = random() % 8 == 0 ? 0.0f : static_cast<float>(random() % 100) / 50;
    // Blocks beyond the first 2^32 counters, and steps and parts that fill their words.
    const Random draws{random(), random()};
    std::vector<std::int8_t> wire(cut.size), fast(cut.size);
    const auto encode = [&](std::int8_t* to) {
      return kernel::EncodeTernary<float, std::int8_t>{units, x.data(), scales.data(), draws, to};
    };
    run(units.count, encode(wire.data()));
    run_fast(level, units.count, encode(fast.data()));
    CHECK(wire == fast);

    for (std::int8_t& digit : wire) digit = static_cast<std::int8_t>(random());
    const std::vector<float> start = values(Kind::normal, cut.size, random);
    std::vector<float> sum = start, fast_sum = start;
    const auto decode = [&](float* to) {
      return kernel::DecodeTernary<std::int8_t, float>{units, wire.data(), scales.data(), to};
    };
    run(units.count, decode(sum.data()));
    run_fast(level, units.count, decode(fast_sum.data()));
    CHECK(alike(sum, fast_sum));
  });
}

TEST_CASE("random numbers of any group") {
  std::mt19937_64 random(9);
  for (const auto level : levels()) {
    for (int i = 0; i < 200; ++i) {
      const Random draws{random(), random()};
      const std::size_t part = random(), count = 1 + random() % 17;
      std::size_t group = random() >> random() % 64;
      if (i % 4 == 0) group = (std::size_t{1} << 30) - 1 - random() % 8;  // the low word wraps
      std::vector<float> u(16 * (count + 7)), expected(16 * count);
      simd::with_codes(level,
                       [&](auto codes) { codes.uniforms(draws, part, group, count, u.data()); });
      for (std::size_t g = 0; g < count; ++g) {
        uniforms(draws, part, group + g, expected.data() + 16 * g);
      }
      u.resize(expected.size());
      CHECK(alike(u, expected));
    }
  }
}

template <class H>
void check_halves() {
  std::mt19937_64 random(11);
  // Every half, and floats around the middles between neighbours, which round to even.
  std::vector<H> halves;
  std::vector<float> x;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    halves.push_back(H::from_bits(static_cast<std::uint16_t>(bits)));
    const auto middle = std::bit_cast<std::uint32_t>(static_cast<float>(halves.back())) +
                        (std::same_as<H, float16> ? 0x1000u : 0x8000u);
    for (const std::uint32_t near : {middle - 1, middle, middle + 1}) {
      set_bits(x.emplace_back(), near);
    }
    set_any(x.emplace_back(), random);
  }
  for (float tiny = 0x1p-27f; tiny < 0x1p-13f; tiny *= 1.01f) x.push_back(tiny);
  x.push_back(1);  // no multiple of a vector
  for (const auto level : levels()) {
    CAPTURE(simd::name_of(level));
    std::vector<H> to(x.size()), fast(x.size());
    run(x.size(), kernel::Convert<float, H>{x.data(), to.data()});
    run_fast(level, x.size(), kernel::Convert<float, H>{x.data(), fast.data()});
    CHECK(std::memcmp(to.data(), fast.data(), to.size() * sizeof(H)) == 0);

    for (const std::size_t n : {halves.size(), halves.size() - 3, std::size_t{7}}) {
      std::vector<float> sum(n, 1e-5f), fast_sum(n, 1e-5f);
      run(n, kernel::AddTo<H, float>{halves.data(), sum.data()});
      run_fast(level, n, kernel::AddTo<H, float>{halves.data(), fast_sum.data()});
      CHECK(alike(sum, fast_sum));
    }
  }
}
TEST_CASE("floats as halves, and halves added to floats") {
  check_halves<float16>();
  check_halves<bfloat16>();
}

}  // namespace

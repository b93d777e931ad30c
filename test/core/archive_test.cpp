// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/policy_support.hpp>

#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/value_type.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

const std::vector<std::uint16_t> shorts{1, 0xfffe, 3};
const std::vector<double> reals{0.1, -0.0, std::numeric_limits<double>::infinity()};
const std::vector<float16> halves{float16(1.5f), float16(-2.0f)};

std::string written() {
  std::ostringstream out;
  Writer writer(out);
  writer.value(std::uint64_t{0x0102030405060708});
  writer.value(-1);
  writer.value(true);
  writer.value(ValueType::bfloat16);
  writer.value(0.1);
  writer.value(std::string("fc1.weight"));
  writer.array(std::span<const std::uint16_t>(shorts));
  writer.array(std::span<const double>(reals));
  writer.array(std::span<const float16>(halves));
  writer.array(std::span<const float>());
  writer.finish();
  return out.str();
}
/// Reads all of it; true if it is what was written.
bool read(const std::string& bytes) {
  std::istringstream in(bytes);
  Reader reader(in);
  bool same = reader.value() == 0x0102030405060708;
  same &= reader.value() == ~std::uint64_t{0};
  reader.expect(1, "flag");
  same &= reader.value() == static_cast<std::uint64_t>(ValueType::bfloat16);
  same &= reader.real() == 0.1;
  same &= reader.text(100) == "fc1.weight";
  same &= reader.array<std::uint16_t>(3, "shorts") == shorts;
  same &= same_bits(reader.array<double>(3, "reals"), reals);
  same &= reader.array<float16>(2, "halves") == halves;
  same &= reader.array<float>(0, "nothing").empty();
  reader.finish();
  return same;
}

TEST_CASE("what was written is read") { CHECK(read(written())); }

TEST_CASE("bytes are the same on every machine") {
  const std::string bytes = written();
  CHECK(bytes.substr(0, 8) == "\x08\x07\x06\x05\x04\x03\x02\x01");
  const std::size_t array = 5 * 8 + 8 + 10;
  CHECK(bytes.substr(array, 8) == std::string("\x03\0\0\0\0\0\0\0", 8));
  CHECK(bytes.substr(array + 8, 6) == std::string("\x01\0\xfe\xff\x03\0", 6));
}

TEST_CASE("every truncation is noticed") {
  const std::string bytes = written();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK(message_of<StateError>([&] { read(bytes.substr(0, size)); }).find("ends early") !=
          std::string::npos);
  }
}

TEST_CASE("every flipped bit is noticed") {
  const std::string bytes = written();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    CAPTURE(bit);
    CHECK_THROWS_AS(read(damaged), StateError);
  }
}

TEST_CASE("lengths are checked before memory is asked for") {
  std::ostringstream out;
  Writer writer(out);
  writer.value(~std::uint64_t{0});
  std::istringstream array_in(out.str()), text_in(out.str());
  Reader array_reader(array_in), text_reader(text_in);
  CHECK(message_of<StateError>([&] {
          static_cast<void>(array_reader.array<float>(7, "the residual"));
        }).find("18446744073709551615 entries of the residual where 7 belong") !=
        std::string::npos);
  CHECK(message_of<StateError>([&] {
          static_cast<void>(text_reader.text(100));
        }).find("a name is too long") != std::string::npos);
}

TEST_CASE("another value than expected is named") {
  std::istringstream in(written());
  Reader reader(in);
  CHECK(message_of<StateError>([&] {
          reader.expect(5, "number of ranks");
        }).find("saved with another number of ranks") != std::string::npos);
}

TEST_CASE("a stream that fails is reported") {
  std::ostringstream out;
  Writer writer(out);
  writer.value(1);
  out.setstate(std::ios::badbit);
  CHECK_THROWS_AS(writer.finish(), StateError);
}

TEST_CASE("fingerprints depend on values and their order") {
  const auto of = [](auto... x) {
    Fingerprint sum;
    (sum(x), ...);
    return sum.value();
  };
  CHECK(of(1, 2) == of(1, 2));
  CHECK(of(1, 2) != of(2, 1));
  CHECK(of(0) != of(0, 0));
  CHECK(of(0.5) != of(0.25));
  CHECK(of(0.5f) == of(0.5));
  CHECK(of(true) != of(false));
}

}  // namespace

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <concept/last_miss.hpp>
#include <concept/truncated.hpp>
#include <suite/plain_executor.hpp>

#include <pactrain/pactrain.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <type_traits>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

static_assert(Compressor<example::Truncated, HostExecutor>);
static_assert(Compressor<example::Truncated, PlainExecutor>);
static_assert(Feedback<example::LastMiss, HostExecutor>);
static_assert(Feedback<example::LastMiss, PlainExecutor>);

namespace {

/// A near-miss: `additive`, but with a size in bytes; nothing says what a sum would add.
struct Sized : Identity {
  template <Executor E>
  class on {
   public:
    explicit on(const Sized&) {}
    template <GradientValue S>
    [[nodiscard]] std::size_t wire_bytes(const CodecCall&) const {
      return 0;
    }
    template <class S>
    void encode(E&, const CodecCall&, std::span<const S>, std::span<std::byte>) {}
    template <class A>
    void decode_add(E&, const CodecCall&, std::span<const std::byte>, std::span<A>) {}
  };
};
static_assert(!Compressor<Sized, HostExecutor>);

/// A near-miss: it remembers, but cannot be saved.
struct Forgetful {
  static constexpr bool active = true;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }
  template <Executor E>
  class on : public example::LastMiss::on<E> {
   public:
    explicit on(const Forgetful&) : example::LastMiss::on<E>(example::LastMiss{}) {}
    void save(E&, Writer&) = delete;
  };
};
static_assert(!Feedback<Forgetful, HostExecutor>);

TEST_CASE("the minimal codec and feedback reduce") {
  on_threads(2, [](HostBackend& backend) {
    SparseAllReduce<KeepAll, FullMask, HostBackend, example::Truncated, example::LastMiss> reduce{
        backend};
    // 1 + 2^-8 is cut to 1 until what is missed adds up to a unit of the wire, 2^-7.
    const double conveyed[] = {1, 1 + 0x1p-7, 1, 1 + 0x1p-7};
    for (const double expected : conveyed) {
      std::vector<float> gradient(3, 1 + 0x1p-8f);
      reduce(gradient);
      CHECK(gradient == std::vector<float>(3, static_cast<float>(expected)));
    }
  });
}

TEST_CASE("the minimal codec keeps a NaN whose payload it cuts") {
  const float nan = std::bit_cast<float>(0x7f800001u);
  bfloat16 half;
  example::Truncate<float>{&nan, &half}(0);
  CHECK(!is_finite(half));
  CHECK(float(half) != float(half));
}

}  // namespace

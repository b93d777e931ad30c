// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices of each rank that travel with their positions.
#include <pipeline/choices.hpp>

#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/feedback/momentum_feedback.hpp>
#include <pactrain/gathered.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/block_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/non_zero.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/sidco.hpp>
#include <pactrain/policy/threshold.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/united.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::refusal;
using reducer::residual_in;
using reducer::restore;
using reducer::saved;

namespace {

using Vector = std::vector<float>;

/// Two parameters that begin inside words.
template <class T>
std::vector<Slice<T>> layers(std::vector<T>& x) {
  const std::size_t first = x.size() / 3;
  return {{"a", std::span(x).first(first)}, {"b", std::span(x).subspan(first)}};
}

}  // namespace

TEST_CASE_TEMPLATE("each rank's choice is added where it stands", Mask, IndexMask, BitMask,
                   BlockMask<1>) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const std::size_t n : {1u, 2u, 64u, 65u, 1000u}) {
      with_ranks(ranks, [&](HostBackend& backend, int rank) {
        const std::size_t k = n / 10 + 1;
        OnThreads<Gathered<TopK>, Mask> reduce{
            backend, {.k = k, .scope = Scope::global}, {}, {}, {.reduction = Reduction::sum}};
        for (int step = 0; step < 3; ++step) {
          Vector expected(n), x = values_of<float>(rank + 10 * step, n);
          for (int other = 0; other < ranks; ++other) {
            const auto theirs = values_of<float>(other + 10 * step, n);
            const auto kept = largest(theirs, k);
            for (std::size_t i = 0; i < n; ++i) expected[i] += kept[i] ? theirs[i] : 0.0f;
          }
          const Report report = reduce(layers(x));
          CHECK(same_bits(x, expected));
          CHECK(report.kept == k);
          CHECK(report.entries == n);
          CHECK(report.path == Path::packed);
        }
      });
    }
  }
}

TEST_CASE("the wire: the bytes of the positions, the positions, the values, the flags") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    OnThreads<Gathered<Threshold>, IndexMask, Int8> reduce{backend, {.value = 1.0}};
    Vector x(1000);
    for (std::size_t i = 0; i < (rank == 0 ? 5u : 300u); ++i) x[3 * i] = 2.0f;
    reduce(Vector(x));  // agrees
    const Report report = reduce(x);
    const std::size_t kept = rank == 0 ? 5 : 300, scales = rank == 0 ? 1 : 2;
    const std::size_t wire = 8 + (2 * kept + 7) / 8 * 8 + 4 * scales + kept;
    CHECK(report.kept == kept);
    CHECK(report.payload_bytes == (wire + 7) / 8 * 8 + 8);
    CHECK(report.bytes_sent == report.payload_bytes + 8);  // and the size, to the other rank
    CHECK(x[0] == 2.0f);
    CHECK(x[3 * 299] == 1.0f);
  });
}

TEST_CASE("a rank may choose nothing, and all may") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    OnThreads<Gathered<NonZero>, IndexMask> reduce{backend};
    Vector x(70);
    if (rank == 1) x[69] = 3.0f;
    CHECK(reduce(x).kept == (rank == 1 ? 1 : 0));
    CHECK(x[69] == 1.0f);
    CHECK(x[0] == 0.0f);
    x.assign(70, 0.0f);
    CHECK(reduce(x).kept == 0);
    CHECK(same_bits(x, Vector(70)));
  });
}

TEST_CASE_TEMPLATE("values of any type, and any codec of its own scales", T, float16, bfloat16,
                   double) {
  with_ranks(3, [](HostBackend& backend, int rank) {
    OnThreads<Gathered<TopK>, IndexMask> plain{backend, {.k = 20}};
    OnThreads<Gathered<TopK>, BitMask, Cast<bfloat16>, ErrorFeedback> cast{backend, {.k = 20}};
    OnThreads<Gathered<TopK>, BitMask, Int8> int8{backend, {.k = 20}};
    OnThreads<TopK, BitMask> united{backend, {.k = 200}};  // that is: all of them
    const auto values = values_of<T>(rank, 200);
    auto a = values, b = values, c = values, d = values;
    plain(a);
    CHECK(cast(b).kept == 20);
    int8(c);
    united(d);
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      const auto x = static_cast<arithmetic_t<T>>(a[i]);
      chosen += x != 0 ? 1 : 0;
      CHECK(std::abs(x - static_cast<arithmetic_t<T>>(b[i])) <= 0.5);  // of values up to 128
      CHECK(std::abs(x - static_cast<arithmetic_t<T>>(c[i])) <= 1.0);
    }
    CHECK(chosen >= 20);
    CHECK(chosen <= 60);
  });
}

TEST_CASE("what is not chosen waits in the residual, and nothing is lost") {
  with_ranks(3, [](HostBackend& backend, int) {
    OnThreads<Gathered<TopK>, IndexMask, Identity, ErrorFeedback> reduce{
        backend, {.k = 7}, {}, {}, {.reduction = Reduction::sum}};
    check_that_nothing_is_lost(backend, reduce, 100);
  });
}

TEST_CASE("pruned, and top-k of the survivors: pruned entries are neither sent nor remembered") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    constexpr std::size_t n = 130;
    std::vector<bool> flags(n);
    for (std::size_t i = 0; i < n; ++i) flags[i] = i % 2 == 0;
    OnThreads<Pruned, BitMask, Gathered<TopK>, ErrorFeedback> reduce{
        backend, Pruned::from_flags(flags), {.policy = {.k = 5, .scope = Scope::global}}};
    for (int step = 0; step < 4; ++step) {
      Vector x = values_of<float>(rank + 10 * step, n);
      for (std::size_t i = 1; i < n; i += 2) x[i] *= 1000;  // larger than any survivor
      const Report report = reduce(layers(x));
      CHECK(report.kept == 5);
      const Vector residual = residual_in<float>(saved(reduce), n);
      std::size_t sent = 0, waiting = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (!flags[i]) CHECK((x[i] == 0 && residual[i] == 0));
        sent += x[i] != 0 ? 1 : 0;
        waiting += residual[i] != 0 ? 1 : 0;
      }
      CHECK(sent >= 5);
      CHECK(sent <= 10);
      CHECK(waiting >= n / 2 - 5 - 2);
    }
  });
}

TEST_CASE("a step that is refused leaves everything, and a state goes on") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    using R = OnThreads<Gathered<TopK>, IndexMask, Identity, ErrorFeedback>;
    R reduce{backend, {.k = 3}}, again{backend, {.k = 3}};
    Vector x = values_of<float>(rank, 50);
    reduce(x);
    const std::string before = saved(reduce);
    Vector bad = values_of<float>(rank + 1, 50);
    if (rank == 1) bad[7] = not_a_number;
    const Vector untouched = bad;
    CHECK_THROWS_AS(reduce(bad), StepRejected);
    CHECK(same_bits(bad, untouched));
    CHECK(saved(reduce) == before);
    restore(again, before);
    for (int step = 2; step < 5; ++step) {
      Vector a = values_of<float>(rank + 10 * step, 50), b = a;
      reduce(a);
      again(b);
      CHECK(same_bits(a, b));
    }
    R other{backend, {.k = 4}};
    CHECK_THROWS_AS(restore(other, before), StateError);
  });
}

TEST_CASE("a policy that fails on one rank fails the call on all") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    OnThreads<Gathered<CannotChoose>, IndexMask> reduce{backend, {.fails = rank == 1}};
    Vector x = values_of<float>(rank, 50);
    const Vector untouched = x;
    CHECK_THROWS_WITH_AS(reduce(x), doctest::Contains("this rank cannot choose"),
                         PreconditionError);
    CHECK(same_bits(x, untouched));
    CHECK(reduce.step() == 0);
  });
}

TEST_CASE("non-finite values propagate, uncoded") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    OnThreads<Gathered<TopK>, IndexMask, Int8> reduce{
        backend, {.k = 3}, {}, {}, {.non_finite = NonFinite::propagate}};
    Vector x = values_of<float>(rank, 50);
    if (rank == 1) x[7] = not_a_number;
    const Report report = reduce(x);
    CHECK(report.non_finite);
    CHECK(std::isnan(x[7]));
  });
}

TEST_CASE("positions that cannot be are refused") {
  HostExecutor exec;
  Model model;
  model.add("a", 70000);
  const auto bytes = [](auto positions) {
    std::vector<std::byte> all(positions.size() * sizeof(positions[0]));
    std::memcpy(all.data(), positions.data(), all.size());
    return all;
  };
  using Indices = std::vector<std::uint32_t>;
  IndexMask::on<HostExecutor> index;
  for (const Indices& positions : {Indices{5, 5}, {7, 3}, {70000}, {0xffffffffu}}) {
    CHECK_THROWS_AS(index.receive(exec, model, bytes(positions)), BackendError);
  }
  CHECK_THROWS_AS(index.receive(exec, model, std::vector<std::byte>(7)), BackendError);
  index.receive(exec, model, bytes(Indices{0, 3, 69999}));
  CHECK(index.count() == 3);
  CHECK(index.keep()(69999));

  BitMask::on<HostExecutor> bits;
  CHECK_THROWS_AS(bits.receive(exec, model, std::vector<std::byte>(8)), BackendError);
  std::vector<std::uint64_t> words(kernel::words_for(70000), 0);
  words[0] = 5;
  words.back() = ~std::uint64_t{0};  // beyond the model's end too
  bits.receive(exec, model, bytes(words));
  CHECK(bits.count() == 2 + 70000 % 64);
}

TEST_CASE(
    "a wrong call that names one part fails alike on all ranks, which reduce all of the model") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    OnThreads<Gathered<TopK>, IndexMask, Identity, ErrorFeedback> reduce{backend,
                                                                         {.fraction = 0.5}};
    OnThreads<United<TopK>, IndexMask> united{backend, {.fraction = 0.5}};
    const auto layers = [](Vector& x) {
      return std::vector<Slice<float>>{{"a", std::span(x).first(5)},
                                       {"b", std::span(x).subspan(5)}};
    };
    for (int step = 0; step < 4; ++step) {
      Vector x = values_of<float>(rank + 10 * step, 70), y = x, wrong(6, 1.0f);
      for (int culprit = 0; culprit < 3 && step > 0; ++culprit) {
        const std::string before = saved(reduce);
        const auto fails = [&](auto& reducer) {
          const std::string text = reducer::refusal<PreconditionError>(backend, [&] {
            if (rank == culprit) reducer(std::vector<Slice<float>>{{"a", std::span(wrong)}});
            else reducer(layers(x));
          });
          CHECK_MESSAGE(reducer::contains(text, "'a' has 6 entries but had 5"), text);
        };
        fails(reduce);
        fails(united);
        CHECK(same_bits(x, y));
        CHECK(saved(reduce) == before);
      }
      reduce(layers(x));
      united(layers(y));
    }
  });
}

TEST_CASE("an empty parameter changes nothing for those behind it") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    using R = OnThreads<Gathered<SIDCo>, IndexMask, Identity, MomentumFeedback>;
    const SIDCo policy{.fraction = 0.1, .exempt = {"none"}}, plain{.fraction = 0.1};
    R with{backend, policy}, without{backend, plain};
    const auto layers = [](Vector& x, bool empty) {
      std::vector<Slice<float>> parts{{"a", std::span(x).first(5)}, {"b", std::span(x).subspan(5)}};
      if (empty) parts.insert(parts.begin(), {"none", {}});
      return parts;
    };
    for (int step = 0; step < 8; ++step) {
      Vector x = values_of<float>(rank + 10 * step, 300), y = x, z = x;
      R again{backend, policy};
      restore(again, saved(with));
      with(layers(x, true));
      without(layers(y, false));
      again(layers(z, true));
      CHECK(same_bits(x, y));
      CHECK(same_bits(x, z));
      CHECK(saved(with) == saved(again));
    }
  });
}

TEST_CASE("a wire whose parts do not fit is refused, and nothing is read beyond it") {
  HostExecutor exec;
  Model model;
  model.add("a", 100);
  const std::vector<PackedPart> parts{{0, 0, 100}};
  using Codec = Gathered<TopK, IndexMask, Int8>;
  const Codec options{.policy = {.k = 4}};
  Codec::state<HostExecutor> state(options);
  Codec::on<HostExecutor> codec(options, state);
  const CodecCall call{parts, 2, {1, 2}, {}, &model};
  const auto values = values_of<float>(0, 100);
  std::vector<std::byte> wire(codec.wire_bytes(exec, call, std::span<const float>(values)));
  codec.encode(exec, call, std::span<const float>(values), std::span(wire));
  Vector sum(100);
  codec.decode_add(exec, call, std::span<const std::byte>(wire), std::span(sum));
  for (std::size_t size = 0; size < wire.size(); ++size) {
    const std::vector<std::byte> cut(wire.begin(), wire.begin() + static_cast<long>(size));
    CHECK_THROWS_AS(codec.decode_add(exec, call, std::span<const std::byte>(cut), std::span(sum)),
                    BackendError);
  }
  for (std::size_t at = 0; at < 16; ++at) {  // the size of the positions, and the first of them
    for (int bit = 0; bit < 8; ++bit) {
      auto damaged = wire;
      damaged[at] ^= static_cast<std::byte>(1 << bit);
      try {
        codec.decode_add(exec, call, std::span<const std::byte>(damaged), std::span(sum));
      } catch (const BackendError&) {
      }
    }
  }
}

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values beyond what types and codecs hold, and calls that are wrong on one rank.
#include <pipeline/support.hpp>

#include <pactrain/core/backend.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/host/backend.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/policy/pruned.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::contains;
using reducer::refusal;
using reducer::restore;
using reducer::saved;

namespace {
using Vector = std::vector<float>;
}

TEST_CASE("T1 and T2: means of halves neither overflow nor vanish") {
  with_ranks(2, [](HostBackend& backend, int) {
    DenseAllReduce<HostBackend> reduce{backend};
    std::vector<float16> gradient{float16(40000.0f)};
    reduce(gradient);
    CHECK(gradient[0] == float16(40000.0f));
    DenseAllReduce<HostBackend, Cast<float16>> cast{backend};
    Vector floats{40000.0f};
    cast(floats);
    CHECK(floats[0] == 40000.0f);
  });
  with_ranks(4, [](HostBackend& backend, int) {
    DenseAllReduce<HostBackend> reduce{backend};
    std::vector<float16> gradient{float16(0x1p-24f)};
    reduce(gradient);
    CHECK(gradient[0].bits == 1);
  });
}

TEST_CASE("T7: one rank's NaN or infinity is seen by all, with every codec") {
  for_codecs([]<class Codec>() {
    for (const float bad : {not_a_number, infinity}) {
      for (const int culprit : {0, 1}) {
        with_ranks(2, [&](HostBackend& backend, int rank) {
          CAPTURE(bad);
          const Vector given{1, bad, 2, 3};
          DenseAllReduce<HostBackend, Codec, ErrorFeedback> strict{backend};
          Vector gradient = rank == culprit ? given : Vector(4);
          const Vector before = gradient;
          const std::string text = refusal<StepRejected>(backend, [&] { strict(gradient); });
          CHECK_MESSAGE(contains(text, "rank " + std::to_string(culprit) + ": entry 1 of"), text);
          CHECK(same_bits(gradient, before));
          CHECK(strict.step() == 0);
          gradient = Vector(4);
          strict(gradient);  // a residual that had changed would come back now
          CHECK(gradient == Vector(4));

          DenseAllReduce<HostBackend, Codec> lenient{
              backend, {}, {}, {}, {.non_finite = NonFinite::propagate}};
          gradient = rank == culprit ? given : Vector(4);
          const Report report = lenient(gradient);
          CHECK(report.non_finite);
          CHECK((bad == infinity ? gradient[1] == infinity : std::isnan(gradient[1])));
          CHECK(gradient[0] == 0.5f);
          CHECK(gradient[2] == 1.0f);
          CHECK(gradient[3] == 1.5f);
        });
      }
    }
  });
}

TEST_CASE("a non-finite value where nothing is kept is found too, and propagates as a zero") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    for (const std::vector<int>& flags : {std::vector{0, 1}, std::vector{0, 0}}) {
      OnThreads<Pruned, BitMask> strict{backend, Pruned::from_flags(flags)};
      OnThreads<Pruned, BitMask, Int8> lenient{
          backend, Pruned::from_flags(flags), {}, {}, {.non_finite = NonFinite::propagate}};
      Vector gradient{rank == 1 ? not_a_number : 1.0f, 2.0f};
      const std::string text = refusal<StepRejected>(backend, [&] { strict(gradient); });
      CHECK_MESSAGE(contains(text, "rank 1: entry 0 of"), text);
      CHECK(lenient(gradient).non_finite);
      CHECK(gradient == Vector{0.0f, flags[1] != 0 ? 2.0f : 0.0f});
    }
  });
}

TEST_CASE("finite values whose sum, or whose half, is not finite are refused as such") {
  with_ranks(2, [](HostBackend& backend, int) {
    const auto check = [&](auto& reduce, auto gradient) {
      const auto before = gradient;
      const std::string text = refusal<StepRejected>(backend, [&] { reduce(gradient); });
      CHECK_MESSAGE(contains(text, "beyond the range of the value type or of the codec"), text);
      CHECK(same_bits(gradient, before));
    };
    DenseAllReduce<HostBackend> sum{backend};
    check(sum, Vector{3e38f, 1.0f});
    DenseAllReduce<HostBackend, Cast<float16>> half{backend};
    check(half, Vector{1.0f, 1e5f});
    DenseAllReduce<HostBackend> halves{backend, {}, {}, {}, {.reduction = Reduction::sum}};
    check(halves, std::vector<float16>{float16(40000.0f)});
  });
}

TEST_CASE("another value type on one rank is refused on all, whatever is under way") {
  for (const NonFinite mode : reducer::all_modes) {
    for (const int culprit : {0, 1, 2}) {
      with_ranks(3, [&](HostBackend& backend, int rank) {
        DenseAllReduce<HostBackend> reduce{backend, {}, {}, {}, {.non_finite = mode}};
        Vector x(4, 1.0f), y(3, 2.0f);
        std::vector<double> wrong(3, 5.0);
        const std::vector<Slice<float>> all{{"x", x}, {"y", y}};
        const std::vector<Slice<float>> only_x{{"x", x}}, only_y{{"y", y}};
        const std::vector<Slice<double>> wrong_y{{"y", wrong}};
        reduce(all);
        Pending first = reduce.start(only_x);
        const auto second = [&] {
          return refusal<PreconditionError>(backend, [&] {
            if (rank == culprit) reduce(wrong_y);
            else reduce(only_y);
          });
        };
        const std::string text = second();
        CHECK_MESSAGE(contains(text, "rank " + std::to_string(culprit) +
                                         ": the gradient is of type double but was of type float"),
                      text);
        CHECK(first.report().step == 1);
        CHECK(reduce.step() == 1);
        reduce(only_y);
        CHECK(reduce.step() == 2);

        const std::string state = saved(reduce);
        restore(reduce, state);
        const std::string loaded = refusal<PreconditionError>(backend, [&] {
          if (rank == culprit) reduce(wrong);
          else reduce(all);
        });
        CHECK_MESSAGE(contains(loaded, "was of type float"), loaded);
        reduce(all);
        CHECK(reduce.step() == 3);
        CHECK(y == Vector(3, 2.0f));
      });
    }
  }
}

TEST_CASE("a model of nothing that one rank fills is refused in every mode") {
  for (const NonFinite mode : reducer::all_modes) {
    with_ranks(2, [&](HostBackend& backend, int rank) {
      DenseAllReduce<HostBackend> reduce{backend, {}, {}, {}, {.non_finite = mode}};
      Vector none, some(3, 1.0f);
      reduce(none);
      const std::string text =
          refusal<PreconditionError>(backend, [&] { reduce(rank == 1 ? some : none); });
      CHECK_MESSAGE(contains(text, "rank 1: 3 entries were passed but the model has 0"), text);
      reduce(none);
      CHECK(reduce.step() == 2);
    });
  }
}

namespace {
/// An executor that reaches one vector only.
struct WalledExecutor : HostExecutor {
  const void* within = nullptr;
  [[nodiscard]] bool reaches(const void* memory) const { return memory == within; }
};
}  // namespace

TEST_CASE("a gradient that kernels of one rank do not reach is refused on all") {
  using Walled = BackendPair<WalledExecutor, ThreadCommunicator>;
  with_ranks(2, [](HostBackend& backend, int rank) {
    Walled walled{WalledExecutor{}, std::move(backend.communicator())};
    DenseAllReduce<Walled> reduce{walled};
    Vector gradient{1, 2, 3}, elsewhere{4, 5, 6};
    walled.executor().within = gradient.data();
    auto& passed = rank == 1 ? elsewhere : gradient;
    const Vector before = passed;
    std::string text;
    try {
      reduce(passed);
    } catch (const Error& error) {
      text = error.what();
    }
    CHECK_MESSAGE(contains(text, "kernels of this backend do not reach"), text);
    CHECK(passed == before);
    reduce(gradient);
    CHECK(gradient == Vector{1, 2, 3});
  });
}

namespace {

struct KeepsAll {
  PACTRAIN_FN bool operator()(std::size_t) const { return true; }
};
/// A policy that fails on some ranks, from step 1 on, with this or that exception.
struct FailsLater {
  bool fails = false, foreign = false;
  static constexpr Support support = Support::local;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const { return 1; }
  template <Executor E>
  class on {
   public:
    explicit on(const FailsLater& options) : fails_(options.fails), foreign_(options.foreign) {}
    [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
    template <class T>
    void prepare(E&, const Model&, std::span<const Piece<T>>, Step step) {
      if (!fails_ || step == 0) return;
      if (foreign_) throw std::runtime_error("out of luck");
      throw PreconditionError("pactrain: out of luck");
    }
    template <class T>
    [[nodiscard]] KeepsAll keep(const Piece<T>&) const {
      return {};
    }

   private:
    bool fails_, foreign_;
  };
};

}  // namespace

TEST_CASE("a policy that fails on one rank, or on all, fails the call on all") {
  for (const NonFinite mode : {NonFinite::reject, NonFinite::propagate, NonFinite::ignore}) {
    for (const bool foreign : {false, true}) {
      for (const int culprit : {0, 1, -1}) {
        with_ranks(2, [&](HostBackend& backend, int rank) {
          const FailsLater policy{culprit < 0 || rank == culprit, foreign};
          OnThreads<FailsLater, BitMask> reduce{backend, policy, {}, {}, {.non_finite = mode}};
          std::vector<float> gradient(5, static_cast<float>(rank));
          reduce(gradient);
          gradient.assign(5, 2.0f);
          const std::string text =
              reducer::refusal<PreconditionError>(backend, [&] { reduce(gradient); });
          const std::string blame = "pactrain: rank " + std::to_string(culprit < 0 ? 0 : culprit);
          CHECK_MESSAGE(text.starts_with(blame + ": out of luck"), text);
          CHECK(gradient == std::vector<float>(5, 2.0f));
          CHECK(reduce.step() == 1);
        });
      }
    }
  }
}

TEST_CASE("codec options that cannot work are refused where the reducer is made") {
  HostBackend backend;
  using Blocks = DenseAllReduce<HostBackend, Int8>;
  using Clipped = DenseAllReduce<HostBackend, Ternary>;
  CHECK_THROWS_AS(Blocks(backend, {}, Int8{.block = 0}), PreconditionError);
  CHECK_THROWS_AS(Clipped(backend, {}, Ternary{.clip = -1}), PreconditionError);
}

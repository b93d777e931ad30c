// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients in buckets: the same bits for any grouping, steps accepted or refused as a whole.
#include <pipeline/support.hpp>

#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/gradient_buckets.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/top_k.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::contains;
using reducer::saved;
using reducer::sliced;

namespace {

using Vector = std::vector<float>;
const std::vector<std::size_t> sizes{70, 1, 0, 130, 64, 3};
const std::size_t total = 268;

template <class Codec, class Feedback>
using Gradual = OnThreads<GradualMagnitude, BitMask, Codec, Feedback>;

GradualMagnitude policy(const std::vector<Slice<const float>>& weights) {
  return {.weights = weights, .final_sparsity = 0.8, .begin = 1, .end = 3, .every = 1};
}
std::vector<Slice<const float>> named(const Vector& values) {
  return sliced(std::span<const float>(values), sizes, true);
}
Vector gradient_of(int rank, Step step) {
  return values_of<float>(rank + 100 * static_cast<int>(step), total);
}
/// The places of the parameters in some order.
std::vector<std::size_t> shuffled(unsigned seed) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::shuffle(order, std::mt19937(seed));
  return order;
}

template <class Codec, class Feedback>
void any_grouping_gives_the_same_bits(std::size_t bytes) {
  with_ranks(3, [&](HostBackend& backend, int rank) {
    const Vector weights = values_of<float>(7, total);
    const auto model = named(weights);
    Gradual<Codec, Feedback> whole{backend, policy(model)}, bucketed{backend, policy(model)};
    Vector expected(total), found(total);
    const auto slices = sliced(std::span(found), sizes, true);
    GradientBuckets buckets{bucketed, slices, {.bytes = bytes}};
    for (Step step = 0; step < 5; ++step) {
      expected = gradient_of(rank, step);
      const Report all = whole(sliced(std::span(expected), sizes, true));
      std::ranges::copy(gradient_of(rank, step), found.begin());
      for (const std::size_t i :
           shuffled(static_cast<unsigned>(rank) + 10)) {  // each its own order
        buckets.ready(i);
        buckets.advance();
      }
      const Report sum = buckets.finish();
      CHECK(found == expected);
      CHECK(sum.kept == all.kept);
      CHECK(sum.entries == all.entries);
      CHECK(sum.step == all.step);
    }
    CHECK(saved(bucketed) == saved(whole));
  });
}

}  // namespace

TEST_CASE("any grouping gives the same bits, whatever becomes ready first") {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{300}, std::size_t{600}, 4 * total}) {
    CAPTURE(bytes);
    any_grouping_gives_the_same_bits<Identity, NoFeedback>(bytes);
    any_grouping_gives_the_same_bits<Ternary, ErrorFeedback>(bytes);
  }
}

TEST_CASE("groups are made in the order of backward and hold so many bytes") {
  with_ranks(1, [](HostBackend& backend, int) {
    const Vector weights(total, 1.0f);
    Gradual<Identity, NoFeedback> reduce{backend, policy(named(weights))};
    Vector gradient(total);
    const auto slices = sliced(std::span(gradient), sizes, true);
    const auto count = [&](std::size_t bytes) {
      return GradientBuckets{reduce, slices, {.bytes = bytes}}.bucket_count();
    };
    CHECK(count(1) == 5);             // the empty one goes with its neighbour
    CHECK(count(4 * (64 + 3)) == 4);  // 3 + 64 | 130 | 1 | 70
    CHECK(count(4 * total) == 1);
  });
}

TEST_CASE("a parameter without a gradient adds zeros, on one rank or on all") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    const Vector weights(total, 1.0f);
    DenseAllReduce<HostBackend> reduce{backend};
    Vector gradient(total, 4.0f);
    const auto slices = sliced(std::span(gradient), sizes, true);
    GradientBuckets buckets{reduce, slices, {.bytes = 256}};
    buckets.ready("p5");
    if (rank == 0) buckets.ready("p4");
    else buckets.skip("p4");
    buckets.ready("p0");
    buckets.finish();  // p1 and p3 are skipped
    const auto is = [&](std::size_t part, float value) {
      return std::ranges::all_of(slices[part].values, [&](float x) { return x == value; });
    };
    CHECK(is(0, 4.0f));
    CHECK(is(1, 0.0f));
    CHECK(is(3, 0.0f));
    CHECK(is(4, 2.0f));
    CHECK(is(5, 4.0f));
    CHECK(reduce.step() == 1);
  });
}

TEST_CASE("a step is refused as a whole, and the next one is as if it had not been") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    const Vector weights = values_of<float>(7, total);
    const auto model = named(weights);
    using Reducer = Gradual<Ternary, ErrorFeedback>;
    Reducer spared{backend, policy(model)}, reduce{backend, policy(model)};
    Vector gradient(total);
    const auto slices = sliced(std::span(gradient), sizes, true);
    GradientBuckets buckets{reduce, slices, {.bytes = 256}}, others{spared, slices, {.bytes = 300}};
    const auto step_of = [&](auto& some, Step step) {
      std::ranges::copy(gradient_of(rank, step), gradient.begin());
      for (std::size_t i = sizes.size(); i-- > 0;) some.ready(i);
      some.finish();
      return gradient;
    };
    for (Step step = 0; step < 6; ++step) {
      const std::string before = saved(reduce);
      const std::size_t kept = reduce.mask().count();
      std::ranges::copy(gradient_of(rank, step), gradient.begin());
      if (rank == 1) gradient[75] = not_a_number;  // in a bucket that is neither first nor last
      const auto bits = reducer::hash(gradient);
      for (std::size_t i = sizes.size(); i-- > 0;) buckets.ready(i);
      std::string said;
      try {
        buckets.finish();
      } catch (const StepRejected& error) {
        said = error.what();
      }
      CHECK(contains(said, "rank 1"));
      CHECK(contains(said, "entry 4 of 'p3'"));
      CHECK(reducer::hash(gradient) == bits);
      CHECK(reduce.step() == step);
      CHECK(reduce.mask().count() == kept);
      CHECK(saved(reduce) == before);

      const Vector after = step_of(buckets, step);
      CHECK(after == step_of(others, step));
      CHECK(saved(reduce) == saved(spared));
    }
  });
}

TEST_CASE("wrong use says what to do") {
  with_ranks(1, [](HostBackend& backend, int) {
    DenseAllReduce<HostBackend> reduce{backend};
    Vector gradient(5);
    const std::vector<Slice<float>> nameless{{"", gradient}};
    const std::vector<Slice<float>> twice{{"a", gradient}, {"a", gradient}};
    const std::vector<Slice<float>> good{{"a", gradient}};
    const auto said = [](auto f) -> std::string {
      try {
        f();
      } catch (const PreconditionError& error) {
        return error.what();
      }
      return "nothing";
    };
    CHECK(contains(said([&] { GradientBuckets{reduce, nameless}; }), "no name"));
    CHECK(contains(said([&] { GradientBuckets{reduce, twice}; }), "two parameters are called 'a'"));
    GradientBuckets buckets{reduce, good};
    CHECK(contains(said([&] { buckets.ready("b"); }), "no such parameter"));
    buckets.ready("a");
    CHECK(contains(said([&] { buckets.ready("a"); }), "'a' is ready twice"));
    buckets.finish();
    CHECK(reduce.step() == 1);
  });
}

TEST_CASE("a start that fails is told by finish, on every rank") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    DenseAllReduce<HostBackend> reduce{backend};
    Vector gradient(static_cast<std::size_t>(10 + rank), 1.0f), rest(5, 1.0f);
    const std::vector<Slice<float>> slices{{"rest", rest}, {"uneven", gradient}};
    GradientBuckets buckets{reduce, slices, {.bytes = 8}};
    buckets.ready("uneven");
    buckets.ready("rest");
    CHECK_THROWS_AS(buckets.finish(), RankMismatch);
    CHECK(rest == Vector(5, 1.0f));
    CHECK(reduce.step() == 0);
  });
}

TEST_CASE("a policy that ranks gradients gets the model in one bucket") {
  with_ranks(2, [](HostBackend& backend, int) {
    OnThreads<TopK, BitMask> reduce{backend, {.k = 3}};
    Vector gradient(total, 1.0f);
    const auto slices = sliced(std::span(gradient), sizes, true);
    GradientBuckets buckets{reduce, slices, {.bytes = 1}};
    CHECK(buckets.bucket_count() == 1);
    for (std::size_t i = 0; i < sizes.size(); ++i) buckets.ready(i);
    CHECK(buckets.finish().kept == 13);  // three of each parameter that has as many
  });
}

TEST_CASE("a trace shows a bucket under way while backward goes on") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    DenseAllReduce<HostBackend> reduce{backend};
    Vector gradient(total, 1.0f);
    const auto slices = sliced(std::span(gradient), sizes, true);
    Trace trace{rank};
    GradientBuckets buckets{reduce, slices, {.bytes = 1, .trace = &trace}};
    for (std::size_t i = sizes.size(); i-- > 0;) {
      trace.time("backward", "layer \"" + std::to_string(i) + '"',
                 [&] { std::ranges::fill(slices[i].values, 2.0f); });
      buckets.ready(i);
    }
    buckets.finish();
    CHECK(trace.overlap("backward", "communication") > Trace::Clock::duration::zero());

    std::ostringstream out;
    trace.write(out);
    const std::string text = out.str();
    CHECK(contains(text, R"("pid":)" + std::to_string(rank)));
    CHECK(contains(text, R"("name":"layer \"5\"")"));
    CHECK(contains(text, R"("name":"bucket 0")"));
    CHECK(contains(text, R"("name":"thread_name","args":{"name":"communication"})"));
    CHECK(contains(text, R"("args":{"step":0,"bytes":)"));
    // An event is an object; one that names a process or a row, or has notes, has another inside.
    CHECK(std::ranges::count(text, '{') == std::ranges::count(text, '}'));
    CHECK(std::ranges::count(text, '{') ==
          static_cast<long>(sizes.size() + 2 * (sizes.size() + buckets.bucket_count() + 1 + 5)));
  });
}

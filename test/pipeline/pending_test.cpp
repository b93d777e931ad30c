// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls that overlap, by named parts, and calls that are dropped.
#include <pipeline/support.hpp>

#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/track_zeros.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using reducer::contains;
using reducer::refusal;
using reducer::saved;

namespace {

using Vector = std::vector<float>;

/// Three parameters of a rank.
struct Layers {
  explicit Layers(float value) : a(5, value), b(70, 2 * value), c(9, 3 * value) {}
  std::vector<Slice<float>> all() { return {{"a", a}, {"b", b}, {"c", c}}; }
  std::vector<Slice<float>> some(const std::string& names) {
    std::vector<Slice<float>> slices;
    for (const char name : names) {
      Vector& values = name == 'a' ? a : name == 'b' ? b : c;
      slices.push_back({std::string(1, name), values});
    }
    return slices;
  }
  Vector a, b, c;
  bool operator==(const Layers&) const = default;
};

}  // namespace

TEST_CASE("parts by name, in any order, ended in any order, are what one call makes of them") {
  for (const std::vector<std::string>& order :
       {std::vector<std::string>{"abc"}, {"cba"}, {"c", "ab"}, {"ba", "c"}, {"b", "c", "a"}}) {
    with_ranks(3, [&](HostBackend& backend, int rank) {
      std::vector<bool> flags;
      for (std::size_t i = 0; i < 84; ++i) flags.push_back(i % 3 != 0);
      OnThreads<Pruned, BitMask, Ternary, ErrorFeedback> at_once{backend,
                                                                 Pruned::from_flags(flags)},
          apart{backend, Pruned::from_flags(flags)};
      for (Step step = 0; step < 3; ++step) {
        const auto value = static_cast<float>(rank + 1 + 10 * static_cast<int>(step));
        Layers one(value), other(value);
        at_once(one.all());
        if (step == 0) {
          apart(other.all());
        } else {
          std::vector<Pending> pendings;
          for (const std::string& names : order) {
            pendings.push_back(apart.start(other.some(names)));
            if (rank == 1) pendings.back().advance();
          }
          while (!pendings.empty()) {  // the last one first
            CHECK(pendings.back().report().step == step);
            pendings.pop_back();
          }
        }
        CHECK(other == one);
      }
      CHECK(apart.step() == 3);
      CHECK(saved(apart) == saved(at_once));
    });
  }
}

TEST_CASE("a part is reduced once a step") {
  with_ranks(2, [](HostBackend& backend, int) {
    DenseAllReduce<HostBackend> reduce{backend};
    Layers layers(1.0f);
    reduce(layers.all());
    reduce(layers.some("b"));
    const std::string again =
        refusal<PreconditionError>(backend, [&] { reduce(layers.some("b")); });
    CHECK_MESSAGE(contains(again, "'b' is reduced twice in one step"), again);
    const std::string twice =
        refusal<PreconditionError>(backend, [&] { reduce(layers.some("aa")); });
    CHECK_MESSAGE(contains(twice, "'a' is passed twice"), twice);
    std::ostringstream out;
    CHECK_THROWS_AS(reduce.save(out), PreconditionError);
    CHECK(reduce.step() == 1);
    reduce(layers.some("ca"));
    CHECK(reduce.step() == 2);
    reduce.save(out);
  });
}

TEST_CASE("policies that see the whole model are given the whole model") {
  with_ranks(2, [](HostBackend& backend, int) {
    OnThreads<TopK, BitMask> ranks{backend, {.k = 1}};
    OnThreads<TrackZeros, BitMask> learns{backend};
    const auto check = [&](auto& reduce) {
      Layers layers(1.0f);
      reduce(layers.all());
      const std::string text =
          refusal<PreconditionError>(backend, [&] { reduce(layers.some("ab")); });
      CHECK_MESSAGE(contains(text, "pass all of it in one call"), text);
      reduce(layers.some("cab"));
      CHECK(reduce.step() == 2);
    };
    check(ranks);
    check(learns);
  });
}

TEST_CASE("a second call of the whole model is refused, and the one under way is what it was") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    OnThreads<TopK, BitMask, Identity, ErrorFeedback> reduce{backend, {.k = 3}},
        once{backend, {.k = 3}};
    for (int step = 0; step < 2; ++step) {
      Vector x{1, 2, 3, 4, 5, 6};
      for (float& value : x) value += static_cast<float>(rank);
      Vector again = x, expected = x;
      Pending under_way = reduce.start(x);
      const std::string text =
          refusal<PreconditionError>(backend, [&] { reduce.start(again).wait(); });
      CHECK_MESSAGE(contains(text, "reduced twice in one step"), text);
      under_way.wait();
      once(expected);
      CHECK(x == expected);
      CHECK(saved(reduce) == saved(once));
    }
  });
}

TEST_CASE("one part of a step is refused, the others are not, and it can be made again") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    DenseAllReduce<HostBackend> reduce{backend};
    Layers layers(1.0f);
    reduce(layers.all());
    if (rank == 1) layers.b[7] = not_a_number;
    Pending a = reduce.start(layers.some("a"));
    Pending b = reduce.start(layers.some("b"));
    Pending c = reduce.start(layers.some("c"));
    const std::string text = refusal<StepRejected>(backend, [&] { b.wait(); });
    CHECK_MESSAGE(contains(text, "rank 1: entry 7 of 'b'"), text);
    a.wait();
    c.wait();
    CHECK(reduce.step() == 1);
    layers.b[7] = 2.0f;
    reduce(layers.some("b"));
    CHECK(reduce.step() == 2);
    CHECK(layers == Layers(1.0f));
  });
}

TEST_CASE("advance alone completes the waiting, report tells twice, a moved Pending goes on") {
  with_ranks(4, [](HostBackend& backend, int rank) {
    DenseAllReduce<HostBackend, Ternary> reduce{backend};
    Vector gradient(100, static_cast<float>(rank));
    Pending first = reduce.start(gradient);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!first.advance() && std::chrono::steady_clock::now() < deadline) {
    }
    CHECK(first.advance());
    Pending pending = std::move(first);
    first.wait();  // moved from: nothing to wait for
    CHECK(gradient == Vector(100, static_cast<float>(rank)));
    pending.wait(patience);
    CHECK(pending.report().entries == 100);
    CHECK(pending.report().payload_bytes == 100);
    CHECK(pending.advance());
    CHECK(reduce.step() == 1);
  });
}

TEST_CASE("a dropped Pending waits") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    DenseAllReduce<HostBackend> reduce{backend};
    Vector gradient(10, static_cast<float>(rank));
    {
      const Pending dropped = reduce.start(gradient);
    }
    CHECK(gradient == Vector(10, 1.0f));
    CHECK(reduce.step() == 1);
    gradient[3] = not_a_number;
    {
      const Pending refused = reduce.start(gradient);
    }
    CHECK(gradient[3] != gradient[3]);
    CHECK(reduce.step() == 1);
  });
}

TEST_CASE("a Pending that an exception drops gives the communicator up; no rank hangs") {
  const auto run = [] {
    with_ranks(3, [](HostBackend& backend, int rank) {
      DenseAllReduce<HostBackend> reduce{backend};
      Vector gradient(10, static_cast<float>(rank));
      reduce(gradient);
      const Pending pending = reduce.start(gradient);
      if (rank == 1) throw std::runtime_error("backward failed");
      while (true) reduce(gradient);
    });
  };
  CHECK_THROWS_AS(run(), std::exception);
}

TEST_CASE("polling starts no collective: ranks that poll apart still meet") {
  with_ranks(3, [](HostBackend& backend, int rank) {
    DenseAllReduce<HostBackend, Ternary> first{backend}, second{backend};
    DenseAllReduce<HostBackend> loss{backend};
    for (int step = 0; step < 3; ++step) {
      Vector x(12, 1.0f), y(12, 8.0f), z(1, 3.0f);
      Pending of_x = first.start(x);
      const auto deadline = std::chrono::steady_clock::now() + patience;
      if (rank == 0) {
        while (!of_x.advance() && std::chrono::steady_clock::now() < deadline) {
        }
      }
      Pending of_y = second.start(y);
      loss(z);
      of_y.wait();
      of_x.wait();
      CHECK(x == Vector(12, 1.0f));
      CHECK(y == Vector(12, 8.0f));
      CHECK(z == Vector(1, 3.0f));
    }
  });
}

TEST_CASE("a wait keeps its own deadline, whatever the codec, and the gradient is as it was") {
  for_codecs([]<class Codec>() {
    std::atomic<bool> judged = false;
    bool late = false;
    try {
      with_ranks(2, [&](HostBackend& backend, int rank) {
        DenseAllReduce<HostBackend, Codec> reduce{backend};
        Vector gradient(10, 1.0f);
        reduce(gradient);
        if (rank == 1) return judged.wait(false);  // it does not come, and does not leave
        gradient.assign(10, 4.0f);
        Pending pending = reduce.start(gradient);
        const auto begin = std::chrono::steady_clock::now();
        try {
          pending.wait(std::chrono::milliseconds(5));
        } catch (const DeadlineExceeded& error) {
          late = std::chrono::steady_clock::now() - begin < patience / 2;
          CHECK(error.step() == 1);
          CHECK(error.rank() == 1);
          CHECK(contains(error.what(), "pactrain: step 1: " + error.operation()));
        }
        judged = true;
        judged.notify_all();
        CHECK(gradient == Vector(10, 4.0f));
        CHECK(reduce.step() == 1);
        CHECK_THROWS_AS(static_cast<void>(pending.report()), DeadlineExceeded);
      });
    } catch (const BackendError&) {
    }
    CHECK(late);
  });
}

TEST_CASE("what advance throws, wait throws again") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    DenseAllReduce<HostBackend> reduce{backend};
    Vector gradient(10, 1.0f);
    reduce(gradient);
    if (rank == 1) return;
    Pending pending = reduce.start(gradient);
    const auto poll = [&] {
      while (!pending.advance()) {
      }
    };
    CHECK_THROWS_AS(poll(), PeerLost);
    CHECK(pending.advance());
    CHECK_THROWS_AS(pending.wait(), PeerLost);
    CHECK(gradient == Vector(10, 1.0f));
  });
}

TEST_CASE("a wait may be longer than the clock can tell") {
  on_threads(
      2,
      [](HostBackend& backend) {
        DenseAllReduce<HostBackend> reduce{backend};
        Vector gradient(10, 4.0f);
        reduce.start(gradient).wait(std::chrono::nanoseconds::max());
        CHECK(gradient == Vector(10, 4.0f));
      },
      std::chrono::nanoseconds::max());
}

TEST_CASE("a step of which a part was refused can be given up") {
  with_ranks(2, [](HostBackend& backend, int rank) {
    DenseAllReduce<HostBackend> reduce{backend};
    Layers layers(1.0f);
    reduce(layers.all());
    reduce(layers.some("a"));
    if (rank == 1) layers.b[7] = not_a_number;
    refusal<StepRejected>(backend, [&] { reduce(layers.some("b")); });
    layers = Layers(1.0f);
    const std::string text = refusal<PreconditionError>(backend, [&] { reduce(layers.all()); });
    CHECK_MESSAGE(contains(text, "drop_step"), text);
    reduce.drop_step();
    reduce(layers.all());
    CHECK(reduce.step() == 2);
    CHECK(layers == Layers(1.0f));
  });
}

TEST_CASE("a reducer that ends before its calls gives them up, and whoever waits is told") {
  for (const int leaver : {0, 1}) {
    with_ranks(2, [&](HostBackend& backend, int rank) {
      Layers layers(1.0f);
      const Layers before = layers;
      auto reduce = std::make_unique<DenseAllReduce<HostBackend>>(backend);
      (*reduce)(layers.all());
      CHECK(layers == before);  // the mean of ones
      Pending pending;
      if (rank == leaver) {
        pending = reduce->start(layers.all());
        reduce.reset();
        CHECK(pending.advance());
        CHECK_THROWS_WITH_AS(pending.wait(), doctest::Contains("let reducers live longer"),
                             PreconditionError);
        CHECK_THROWS_AS(pending.check(), PreconditionError);
      } else {
        try {  // which may have had all it needs
          (*reduce)(layers.all());
        } catch (const BackendError&) {
        }
        Vector more(3);
        CHECK_THROWS_AS((DenseAllReduce<HostBackend>{backend}(more)), BackendError);
      }
      CHECK(layers == before);
    });
  }
  // Nor does one that nobody waits for read what is gone.
  HostBackend alone;
  Pending pending;
  {
    DenseAllReduce<HostBackend> reduce{alone};
    std::vector<float> x(3, 1.0f);
    pending = reduce.start(x);
  }
}

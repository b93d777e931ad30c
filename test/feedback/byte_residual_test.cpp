// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/codec_support.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/compress/int4.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/host/executor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;
using namespace pactrain::test::codec;

namespace {

using Floats = std::vector<float>;

/// A residual and its represented values.
struct Memory {
  explicit Memory(const ErrorFeedback& options, std::size_t n) : size(n), feedback(options) {
    Model model;
    model.add("x", n);
    feedback.resize<float>(exec, model);
  }
  [[nodiscard]] Floats compensated(const Floats& gradient) {
    Floats out(gradient.size());
    feedback.compensate(exec, Piece<const float>{0, 0, 0, gradient.size(), gradient.data()},
                        out.data());
    return out;
  }
  [[nodiscard]] Floats values() { return compensated(Floats(size)); }
  void commit(const Floats& missed) {
    feedback.commit(exec, Piece<const float>{0, 0, 0, missed.size(), missed.data()}, step++);
  }
  [[nodiscard]] std::vector<int> stored() {
    std::vector<int> bytes;
    feedback.residual(exec, [&]<class R>(std::span<R> residual) {
      for (const R x : residual) bytes.push_back(static_cast<int>(static_cast<arithmetic_t<R>>(x)));
    });
    return bytes;
  }
  [[nodiscard]] std::string save() {
    std::ostringstream out;
    Writer writer(out);
    feedback.save(exec, writer);
    writer.finish();
    return out.str();
  }
  void load(const std::string& state) {
    std::istringstream in(state);
    Reader reader(in);
    feedback.load(exec, reader);
    reader.finish();
  }

  HostExecutor exec;
  std::size_t size;
  ErrorFeedback::on<HostExecutor> feedback;
  Step step = 0;
};

/// A worker of LoCo: feedback around four bits.
struct Worker {
  Worker(const Int4& codec, const ErrorFeedback& options, std::size_t n)
      : memory(options, n), coder(memory.exec, codec, parts_of({n})) {}
  Floats operator()(const Floats& gradient) {
    Floats missed = memory.compensated(gradient);
    const Floats conveyed = coder.round_trip(missed);
    for (std::size_t i = 0; i < missed.size(); ++i) missed[i] -= conveyed[i];
    memory.commit(missed);
    return conveyed;
  }
  Memory memory;
  Coder<float, HostExecutor, Int4> coder;
};

const ErrorFeedback loco{.gamma = 0.2, .storage = ValueType::int8, .error_scale = 64};

TEST_CASE("LoCo with static scales: the worked numbers") {
  Worker zero(Int4{.scale = 8}, loco, 4), one(Int4{.scale = 8}, loco, 4);
  const Floats steady{.10f, .44f, -.06f, -.40f};
  CHECK(zero({.30f, -.20f, .05f, 1.50f}) == Floats{.25f, -.25f, 0, .875f});
  CHECK(zero.memory.stored() == std::vector<int>{1, 1, 1, 8});
  CHECK(one(steady) == Floats{.125f, .5f, 0, -.375f});
  CHECK(one.memory.stored() == std::vector<int>{0, -1, -1, 0});

  CHECK(zero.memory.compensated({.30f, -.20f, .05f, .50f}) ==
        Floats{.315625f, -.184375f, .065625f, .625f});
  CHECK(zero({.30f, -.20f, .05f, .50f}) == Floats{.375f, -.125f, .125f, .625f});
  CHECK(zero.memory.stored() == std::vector<int>{0, 0, 0, 6});
  CHECK(one.memory.compensated(steady) == Floats{.1f, .424375f, -.075625f, -.4f});
  CHECK(one(steady) == Floats{.125f, .375f, -.125f, -.375f});
  CHECK(one.memory.stored() == std::vector<int>{0, 0, 0, 0});
}

TEST_CASE("a small gradient is released later, and in full: the worked numbers") {
  const auto first_code = [](double gamma) {
    Worker worker(Int4{.scale = 8}, {.gamma = gamma}, 1);
    double sum = 0;
    int first = 0;
    for (int step = 1; step <= 4000; ++step) {
      const double conveyed = worker({.03f})[0];
      if (first == 0 && conveyed > 0) first = step;
      sum += conveyed;
    }
    return std::pair(first, sum / 4000);
  };
  const auto [at_1, mean_1] = first_code(1);
  CHECK(at_1 == 3);
  CHECK(std::abs(mean_1 - .0300) < 5e-5);
  const auto [at_2, mean_2] = first_code(.2);
  CHECK(at_2 == 7);
  CHECK(std::abs(mean_2 - .02997) < 5e-6);
  const auto [at_3, mean_3] = first_code(.05);
  CHECK(at_3 > 20);
  CHECK(std::abs(mean_3 - .02984) < 5e-6);
}

TEST_CASE("what is beyond a byte is cut, and never wraps") {
  Worker worker(Int4{.scale = 8}, {.storage = ValueType::int8, .error_scale = 64}, 2);
  for (int step = 0; step < 50; ++step) {
    const Floats conveyed = worker({2.0f, -3.0f});  // beyond 7/8, and below -1
    CHECK(conveyed == Floats{.875f, -1.0f});
    CHECK(worker.memory.stored()[0] == std::min(72 * (step + 1), 127));
    CHECK(worker.memory.stored()[1] == -128);
  }
  CHECK(worker.memory.values() == Floats{127.0f / 64, -2.0f});
}

TEST_CASE("one step keeps everything up to half a unit of storage") {
  for (const double gamma : {1.0, 0.2}) {
    for (const double scale : {0.0, 4096.0}) {
      CAPTURE(gamma);
      CAPTURE(scale);
      constexpr std::size_t n = 300;
      Worker worker(Int4{.block = 64},
                    {.gamma = gamma, .storage = ValueType::int8, .error_scale = scale, .block = 64},
                    n);
      std::mt19937_64 random(4);
      std::normal_distribution<float> normal(0, 0.02f);
      for (int step = 0; step < 50; ++step) {
        Floats gradient(n);
        for (float& g : gradient) g = normal(random);
        const Floats before = worker.memory.values(), conveyed = worker(gradient);
        const Floats after = worker.memory.values();
        for (std::size_t i = 0; i < n; ++i) {
          const double law = gamma * (double{gradient[i]} - double{conveyed[i]});
          float largest = 0;  // the positive one comes back as 127/128 of itself
          for (std::size_t j = i / 64 * 64; j < std::min(n, i / 64 * 64 + 64); ++j) {
            largest = std::max(largest, std::abs(after[j]));
          }
          const double unit = scale > 0 ? 1 / scale : double{largest} / 127;
          const double half = scale > 0 ? unit / 2 : unit;
          CHECK(std::abs(double{after[i]} - double{before[i]} - law) <= half * (1 + 1e-5) + 1e-7);
        }
      }
    }
  }
}

TEST_CASE("blocks have scales of their own") {
  Memory memory({.storage = ValueType::int8, .block = 4}, 10);
  CHECK(memory.feedback.bytes() == 10 + 3 * sizeof(float));
  memory.commit({-1, .5f, .25f, 0, -100, 50, 1e-3f, 0, 1e-30f, -1e-30f});
  CHECK(memory.stored() == std::vector<int>{-128, 64, 32, 0, -128, 64, 0, 0, 127, -128});
  CHECK(memory.values()[4] == -100);
  CHECK(memory.values()[9] == -1e-30f);
  memory.commit(Floats(10));
  CHECK(memory.values() == Floats(10));
}

TEST_CASE("no block crosses a parameter, and pieces of any cut read the same") {
  Model model;
  for (const std::size_t size : {6u, 0u, 1u, 9u}) model.add({}, size);
  HostExecutor exec;
  ErrorFeedback::on<HostExecutor> feedback({.storage = ValueType::int8, .block = 4});
  feedback.resize<float>(exec, model);
  const Floats missed{-1, .5f, 0, 0, 2, -4, 100, 8, 8, -8, 0, -2, 1, 0, 0, .25f};
  for (const std::size_t part : {3u, 0u, 2u}) {
    const Part& place = model.parts()[part];
    feedback.commit(exec,
                    Piece<const float>{part, 0, place.first, place.size, &missed[place.first]}, 0);
  }
  // Those that are the largest of their block and positive come back as 127/128 of themselves.
  const float near = 127.0f / 128;
  const Floats expected{-1,       .5f, 0, 0,  2, -4, 100 * near, 8 * near,
                        8 * near, -8,  0, -2, 1, 0,  0,          .25f * near};
  for (const std::size_t run : {1u, 3u, 16u}) {
    Floats read(16);
    for (std::size_t first = 0; first < 16;) {
      std::size_t part = 3;
      while (model.parts()[part].first > first || model.parts()[part].size == 0) --part;
      const Part& place = model.parts()[part];
      const std::size_t size = std::min(run, place.first + place.size - first);
      const Floats zeros(size);
      feedback.compensate(exec,
                          Piece<const float>{part, first - place.first, first, size, zeros.data()},
                          &read[first]);
      first += size;
    }
    CHECK(read == expected);
  }
}

TEST_CASE("what is not finite is not remembered in bytes either") {
  const float inf = std::numeric_limits<float>::infinity();
  for (const double scale : {0.0, 16.0}) {
    Memory memory({.storage = ValueType::int8, .error_scale = scale}, 4);
    memory.commit({-4, -4, -4, -4});
    memory.commit({std::nanf(""), inf, -inf, -2});
    CHECK(memory.values() == Floats{-4, -4, -4, -2});
  }
  Memory memory({.storage = ValueType::int8}, 2);
  memory.commit({0, -std::numeric_limits<float>::denorm_min()});
  CHECK(memory.values() == Floats{0, -std::numeric_limits<float>::denorm_min()});
}

TEST_CASE("all entries are forgotten at the end of the same step") {
  for (const double scale : {0.0, 16.0}) {
    Memory memory({.reset_period = 3, .storage = ValueType::int8, .error_scale = scale}, 4);
    for (int step = 1; step <= 6; ++step) {
      memory.commit({1, 2, 3, 4});
      CHECK((memory.stored() == std::vector<int>(4)) == (step % 3 == 0));
    }
  }
}

TEST_CASE("a change of the loss scale multiplies what is remembered") {
  const std::vector<ErrorFeedback> all{{},
                                       {.storage = ValueType::float16},
                                       {.storage = ValueType::int8},
                                       {.storage = ValueType::int8, .error_scale = 16}};
  for (const ErrorFeedback& options : all) {
    for (const double factor : {0.5, 4.0}) {
      Memory memory(options, 3), other(options, 3);
      memory.commit({-4, 1, 0.5f});
      Floats expected = memory.values();
      for (float& x : expected) x *= static_cast<float>(factor);
      memory.feedback.rescale(memory.exec, factor);
      CHECK(memory.values() == expected);
      other.load(memory.save());
      CHECK(other.values() == expected);
      CHECK(other.save() == memory.save());
    }
    Memory memory(options, 3);
    CHECK_THROWS_AS(memory.feedback.rescale(memory.exec, 0.0), PreconditionError);
  }
}

TEST_CASE("a state of bytes with a scale is not one of bytes by block") {
  Memory with({.storage = ValueType::int8, .error_scale = 16}, 3);
  Memory without({.storage = ValueType::int8}, 3);
  CHECK(message_of<StateError>([&] { without.load(with.save()); }).find("damaged") !=
        std::string::npos);
  CHECK(message_of<StateError>([&] { with.load(without.save()); }).find("damaged") !=
        std::string::npos);
}

}  // namespace

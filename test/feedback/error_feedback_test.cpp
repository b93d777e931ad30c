// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/policy_support.hpp>
#include <suite/values.hpp>

#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/host/executor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace pactrain;
using namespace pactrain::test;

namespace {

Model of_sizes(const std::vector<std::size_t>& sizes) {
  Model model;
  for (const std::size_t size : sizes) model.add({}, size);
  return model;
}

/// Feedback around a compressor that conveys the largest entry, ties by lowest index.
template <GradientValue T>
class Top1 {
 public:
  using A = arithmetic_t<T>;

  Top1(const ErrorFeedback& options, std::size_t n) : n_(n), feedback_(options) {
    feedback_.resize<A>(exec_, of_sizes({n}));
  }
  /// What a step conveys.
  std::vector<A> operator()(const std::vector<T>& gradient) {
    std::vector<A> missed(n_), conveyed(n_);
    feedback_.compensate(exec_, Piece<const T>{0, 0, 0, n_, gradient.data()}, missed.data());
    const auto top = std::max_element(missed.begin(), missed.end(),
                                      [](A a, A b) { return std::abs(a) < std::abs(b); });
    std::swap(conveyed[static_cast<std::size_t>(top - missed.begin())], *top);
    feedback_.commit(exec_, Piece<const A>{0, 0, 0, n_, missed.data()}, step_++);
    return conveyed;
  }
  [[nodiscard]] std::vector<double> residual() {
    std::vector<double> values;
    feedback_.residual(exec_, [&]<class R>(std::span<R> residual) {
      for (const R x : residual)
        values.push_back(static_cast<double>(static_cast<arithmetic_t<R>>(x)));
    });
    return values;
  }
  [[nodiscard]] std::string save() {
    std::ostringstream out;
    Writer writer(out);
    feedback_.save(exec_, writer);
    writer.finish();
    return out.str();
  }
  void load(const std::string& bytes, Step step) {
    std::istringstream in(bytes);
    Reader reader(in);
    feedback_.load(exec_, reader);
    reader.finish();
    step_ = step;
  }
  auto& feedback() { return feedback_; }
  auto& exec() { return exec_; }

 private:
  HostExecutor exec_;
  std::size_t n_;
  ErrorFeedback::on<HostExecutor> feedback_;
  Step step_ = 0;
};

TEST_CASE("what is conveyed and what remains add up to the gradients") {
  constexpr std::size_t n = 10;
  for (const double gamma : {1.0, .5, .2, .05}) {
    CAPTURE(gamma);
    Top1<double> top({.gamma = gamma}, n);
    std::vector<double> conveyed(n), gradients(n);
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    for (int step = 0; step < 500; ++step) {
      std::vector<double> gradient(n);
      for (double& g : gradient) g = normal(random);
      const auto c = top(gradient);
      for (std::size_t i = 0; i < n; ++i) conveyed[i] += c[i];
      for (std::size_t i = 0; i < n; ++i) gradients[i] += gradient[i];
    }
    const auto residual = top.residual();
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(std::abs(conveyed[i] - (gradients[i] - residual[i] / gamma)) < 1e-12);
    }
  }
}

TEST_CASE("a narrow residual deviates by what storing it lost") {
  constexpr std::size_t n = 10;
  for (const auto storage : {ValueType::float16, ValueType::bfloat16, ValueType::float32}) {
    const double unit = storage == ValueType::float16    ? 0x1p-11
                        : storage == ValueType::bfloat16 ? 0x1p-8
                                                         : 0x1p-24;
    for (const double gamma : {1.0, .2}) {
      CAPTURE(name_of(storage));
      CAPTURE(gamma);
      Top1<double> top({.gamma = gamma, .storage = storage}, n);
      CHECK(top.feedback().bytes() == n * (storage == ValueType::float32 ? 4 : 2));
      std::vector<double> law(n), injected(n);
      std::mt19937_64 random(8);
      std::normal_distribution<double> normal;
      for (int step = 0; step < 200; ++step) {
        std::vector<double> gradient(n);
        for (double& g : gradient) g = normal(random);
        const auto c = top(gradient);
        const auto residual = top.residual();
        for (std::size_t i = 0; i < n; ++i) {
          law[i] += gradient[i] - c[i];
          injected[i] += (std::abs(residual[i]) * unit * 1.01 + 0x1p-24) / gamma;
        }
      }
      const auto residual = top.residual();
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(std::abs(law[i] - residual[i] / gamma) <= injected[i] + 1e-12);
      }
    }
  }
}

TEST_CASE_TEMPLATE("top 1 of a constant gradient: the worked numbers", T, float, double, float16,
                   bfloat16) {
  using A = arithmetic_t<T>;
  std::vector<T> gradient{to<T>(3), to<T>(2), to<T>(1)};
  Top1<T> top({}, 3);
  CHECK(top(gradient) == std::vector<A>{3, 0, 0});
  CHECK(top(gradient) == std::vector<A>{0, 4, 0});
  const std::string saved = top.save();
  CHECK(top(gradient) == std::vector<A>{6, 0, 0});
  CHECK(top(gradient) == std::vector<A>{0, 4, 0});
  CHECK(top.residual() == std::vector<double>{3, 0, 4});

  Top1<T> reloaded({}, 3);
  reloaded.load(saved, 2);
  CHECK(reloaded(gradient) == std::vector<A>{6, 0, 0});
  CHECK(reloaded(gradient) == std::vector<A>{0, 4, 0});
  CHECK(reloaded.save() == top.save());
}

TEST_CASE("residuals are forgotten at the end of a period") {
  const std::vector<float> gradient{3, 2, 1};
  Top1<float> top({.reset_period = 3}, 3);
  const std::vector<double> none(3);
  for (int period = 0; period < 2; ++period) {
    top(gradient);
    CHECK(top.residual() == std::vector<double>{0, 2, 1});
    top(gradient);
    CHECK(top.residual() != none);
    top(gradient);
    CHECK(top.residual() == none);
  }
}

TEST_CASE("a part of the model leaves the rest alone") {
  HostExecutor exec;
  ErrorFeedback::on<HostExecutor> feedback{ErrorFeedback{.reset_period = 2}};
  feedback.resize<float>(exec, of_sizes({1, 1, 1, 2}));
  const float missed[] = {1, 2};
  feedback.commit(exec, Piece<const float>{1, 0, 1, 1, missed}, 0);
  feedback.commit(exec, Piece<const float>{2, 0, 2, 1, missed + 1}, 0);
  std::vector<float> gradient{10, 20, 30}, out(3);
  for (std::size_t i = 0; i < 3; ++i) {
    feedback.compensate(exec, Piece<float>{1 + i, 0, 1 + i, 1, &gradient[i]}, &out[i]);
  }
  CHECK(out == std::vector<float>{11, 22, 30});
  feedback.commit(exec, Piece<const float>{2, 0, 2, 1, missed}, 1);
  feedback.residual(exec, []<class R>(std::span<R> residual) {
    CHECK(static_cast<double>(static_cast<arithmetic_t<R>>(residual[1])) == 1);
    CHECK(static_cast<double>(static_cast<arithmetic_t<R>>(residual[2])) == 0);
  });
}

TEST_CASE("what is not finite is not remembered") {
  HostExecutor exec;
  for (const double gamma : {1.0, 0.5}) {
    for (const auto storage : {ValueType::float32, ValueType::float16}) {
      ErrorFeedback::on<HostExecutor> feedback{ErrorFeedback{.gamma = gamma, .storage = storage}};
      feedback.resize<float>(exec, of_sizes({4}));
      const std::vector<float> before(4, 8.0f);
      feedback.commit(exec, Piece<const float>{0, 0, 0, 4, before.data()}, 0);
      const float inf = std::numeric_limits<float>::infinity();
      const std::vector<float> missed{std::nanf(""), inf, -inf, 2};
      feedback.commit(exec, Piece<const float>{0, 0, 0, 4, missed.data()}, 1);
      std::vector<float> gradient(4), out(4);
      feedback.compensate(exec, Piece<const float>{0, 0, 0, 4, gradient.data()}, out.data());
      const float old = static_cast<float>(8 * gamma);
      const float last = static_cast<float>((1 - gamma) * 8 * gamma + gamma * 2);
      CHECK(out == std::vector<float>{old, old, old, last});
    }
  }
}

TEST_CASE("zeros stay zeros") {
  Top1<float> top({}, 8);
  for (int step = 0; step < 3; ++step) {
    CHECK(same_bits(top(std::vector<float>(8)), std::vector<float>(8)));
  }
  CHECK(top.residual() == std::vector<double>(8));
}

TEST_CASE("state of another model, type or length is refused") {
  Top1<float> top({}, 3), longer({}, 4), other({.storage = ValueType::float16}, 3);
  const std::vector<float> gradient{3, 2, 1};
  top(gradient);
  const std::string saved = top.save();
  const auto refusal = [&](auto& into, const std::string& bytes) {
    const auto before = into.residual();
    const std::string message = message_of<StateError>([&] { into.load(bytes, 0); });
    CHECK(into.residual() == before);
    return message;
  };
  CHECK(refusal(longer, saved).find("3 entries of the residual where 4") != std::string::npos);
  CHECK(refusal(other, saved).find("another residual storage type") != std::string::npos);
  for (std::size_t size = 0; size < saved.size() - 8; ++size) {
    CHECK(refusal(top, saved.substr(0, size)).find("ends early") != std::string::npos);
  }
}

TEST_CASE("options are checked, and told apart") {
  for (const double gamma : {0.0, -0.1, 1.1, std::nan("")}) {
    CHECK(message_of<PreconditionError>([&] {
            ErrorFeedback::on<HostExecutor> feedback{ErrorFeedback{.gamma = gamma}};
          }).find("gamma is " + std::to_string(gamma)) != std::string::npos);
  }
  const auto refused = [](const ErrorFeedback& options) {
    return message_of<PreconditionError>(
        [&] { ErrorFeedback::on<HostExecutor> feedback{options}; });
  };
  CHECK(refused({.storage = ValueType::int16}).find("cannot be stored as wide integers") !=
        std::string::npos);
  CHECK(refused({.error_scale = 64}).find("error_scale is 64") != std::string::npos);
  CHECK(refused({.storage = ValueType::int8, .error_scale = -1}).find("error_scale is -1") !=
        std::string::npos);
  CHECK(refused({.block = 0}).find("a block of residuals is empty") != std::string::npos);
  const ErrorFeedback plain;
  CHECK(plain.fingerprint() == ErrorFeedback{}.fingerprint());
  CHECK(plain.fingerprint() != ErrorFeedback{.gamma = .5}.fingerprint());
  CHECK(plain.fingerprint() != ErrorFeedback{.reset_period = 512}.fingerprint());
  CHECK(plain.fingerprint() != ErrorFeedback{.storage = ValueType::float32}.fingerprint());
  const ErrorFeedback bytes{.storage = ValueType::int8};
  CHECK(bytes.fingerprint() !=
        ErrorFeedback{.storage = ValueType::int8, .error_scale = 1}.fingerprint());
  CHECK(bytes.fingerprint() !=
        ErrorFeedback{.storage = ValueType::int8, .block = 64}.fingerprint());
}

}  // namespace

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/sparse_all_reduce_law.hpp>
#include <suite/sparse_all_reduce_refusals.hpp>
#include <suite/values.hpp>
#include <suite/world.hpp>

#include <pactrain/compress/low_rank.hpp>
#include <pactrain/compress/sketch.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/host/backend.hpp>
#include <pactrain/mask/full_mask.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/sparse_all_reduce.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// What is owed where a codec has a way of its own over the ranks, and a state: on a model with
/// matrices, and gradients with zeros, beside what the suite of `SparseAllReduce` checks of all.
namespace pactrain::test::own {

using reducer::contains;
using reducer::refusal;
using reducer::restore;
using reducer::same_on_all;
using reducer::saved;

inline constexpr std::size_t entries = 7 + 12 * 20 + 6 * 35 + 3;

using Factors = reducer::Combination<KeepAll, FullMask, LowRank, ErrorFeedback>;
using Sketches = reducer::Combination<KeepAll, FullMask, Sketch>;

template <class C, Backend B>
using reducer_of = SparseAllReduce<typename C::policy, typename C::mask, B, typename C::codec,
                                   typename C::feedback>;

/// One rank's reducer of a model of two matrices and two vectors, and its gradient.
template <class C, Backend B, GradientValue T = float>
struct Replica {
  explicit Replica(B& b, ReduceOptions options = {})
      : backend(b), reduce(b, {}, {}, {}, options), gradient(b.executor(), entries, T{}) {}

  [[nodiscard]] int rank() const { return backend.communicator().rank(); }
  [[nodiscard]] std::vector<Slice<T>> parts() const {
    const auto x = gradient.span();
    return {{"bias", x.subspan(0, 7), 0},
            {"w", x.subspan(7, 240), 12},
            {"conv", x.subspan(247, 210), 6},
            {"tail", x.subspan(457, 3), 1}};
  }
  /// Two of three are zeros; those that are not are in other places on every rank.
  [[nodiscard]] std::vector<T> values(Step step) const {
    std::vector<T> x(entries);
    for (std::size_t i = 0; i < entries; ++i) {
      const std::uint64_t place = kernel::mix(i, static_cast<std::uint64_t>(rank()) + 7 * step);
      if (place % 3 == 0) x[i] = value_of<T>(rank(), i + 1000 * static_cast<std::size_t>(step));
    }
    return x;
  }
  void set(const std::vector<T>& x) {
    backend.executor().write(std::span<const T>(x), gradient.span());
  }
  /// A step without trouble; its result.
  std::vector<T> clean_step(Step step, Contribution contribution = Contribution::gradient) {
    set(values(step));
    report = reduce(parts(), contribution);
    return gradient.read();
  }

  B& backend;
  reducer_of<C, B> reduce;
  Array<T, typename B::executor_type> gradient;
  Report report{};
};

/// A reducer that goes through a bad step, and one that does not and is otherwise alike.
template <class C, Backend B>
struct Pair {
  Pair(B& backend, NonFinite mode)
      : disturbed(backend, {.non_finite = mode}), fresh(backend, {.non_finite = mode}) {}
  void check_alike(Step step) {
    CHECK(disturbed.reduce.step() == step);
    CHECK(same_bits(disturbed.clean_step(step), fresh.clean_step(step)));
    CHECK(saved(disturbed.reduce) == saved(fresh.reduce));
  }
  Replica<C, B> disturbed, fresh;
};

template <class C, World W>
void all_ranks_get_the_same_however_slices_are_cut() {
  on_each<W>([](auto& backend) {
    using B = std::remove_reference_t<decltype(backend)>;
    Replica<C, B> named(backend), cut(backend);
    for (Step step = 0; step < 3; ++step) {
      const auto result = named.clean_step(step);
      CHECK(same_on_all(backend, reducer::hash(result)));
      cut.set(cut.values(step));
      const auto x = cut.gradient.span();
      if (step == 0) cut.reduce(cut.parts());
      else if (step == 1)
        cut.reduce(std::vector<Slice<float>>{{{}, x.first(100)}, {{}, x.subspan(100)}});
      else cut.reduce(x);
      CHECK(same_bits(cut.gradient.read(), result));
    }
  });
}

template <class C, World W>
void a_step_is_refused_as_a_whole() {
  on_each<W>([](auto& backend) {
    using B = std::remove_reference_t<decltype(backend)>;
    for (int culprit = 0; culprit < backend.communicator().size(); ++culprit) {
      for (const std::size_t place : {std::size_t{3}, std::size_t{100}}) {
        Pair<C, B> pair(backend, NonFinite::reject);
        auto& replica = pair.disturbed;
        for (Step step = 0; step < 3; ++step) {
          auto gradient = replica.values(step);
          if (replica.rank() == culprit) gradient[place] = std::numeric_limits<float>::infinity();
          replica.set(gradient);
          const std::string text =
              refusal<StepRejected>(backend, [&] { replica.reduce(replica.parts()); });
          const std::string blame = "rank " + std::to_string(culprit) + ": entry " +
                                    (place == 3 ? "3 of 'bias'" : "93 of 'w'");
          CHECK_MESSAGE(contains(text, blame), text);
          CHECK(same_bits(replica.gradient.read(), gradient));
          pair.check_alike(step);
        }
      }
    }
  });
}

template <class C, World W>
void non_finite_values_propagate() {
  on_each<W>([](auto& backend) {
    using B = std::remove_reference_t<decltype(backend)>;
    for (const NonFinite mode : {NonFinite::propagate, NonFinite::ignore}) {
      for (int culprit = 0; culprit < backend.communicator().size(); ++culprit) {
        Pair<C, B> pair(backend, mode);
        auto& replica = pair.disturbed;
        pair.check_alike(0);
        auto gradient = replica.values(1);
        if (replica.rank() == culprit) gradient[100] = std::numeric_limits<float>::infinity();
        replica.set(gradient);
        const Report report = replica.reduce(replica.parts());
        const auto result = replica.gradient.read();
        CHECK(same_on_all(backend, reducer::hash(result)));
        CHECK(report.non_finite == (mode == NonFinite::propagate));
        if (mode == NonFinite::propagate) {
          CHECK(report.path == Path::uncoded);
          std::size_t others = 0;
          for (const float x : result) others += is_finite(x) ? 0 : 1;
          CHECK(others == 1);
          CHECK(result[100] == std::numeric_limits<float>::infinity());
        }
        for (const float x : replica.clean_step(2)) {
          if (!is_finite(x)) FAIL_CHECK("a value is not finite one step later");
        }
      }
    }
  });
}

template <class C, World W>
void ranks_must_agree_on_shapes_and_steps() {
  on_each<W>([](auto& backend) {
    using B = std::remove_reference_t<decltype(backend)>;
    const int ranks = backend.communicator().size(), rank = backend.communicator().rank();
    for (int culprit = 0; ranks > 1 && culprit < ranks; ++culprit) {
      const bool mine = rank == culprit;
      Replica<C, B> replica(backend), ahead(backend);
      auto shapes = replica.parts();
      if (mine) shapes[1].rows = 6;
      reducer::check_mismatch(backend, culprit, "shapes", [&] { replica.reduce(shapes); });
      ahead.clean_step(0);
      const std::string one = saved(ahead.reduce);
      ahead.clean_step(1);
      restore(replica.reduce, mine ? saved(ahead.reduce) : one);
      reducer::check_mismatch(backend, culprit, "step", [&] { replica.clean_step(1); });
    }
  });
}

template <class C, World W>
void a_state_goes_on_and_a_damaged_one_is_refused() {
  on_each<W>([](auto& backend) {
    using B = std::remove_reference_t<decltype(backend)>;
    for (Step at = 0; at < 3; ++at) {
      Replica<C, B> first(backend), second(backend);
      for (Step step = 0; step < at; ++step) first.clean_step(step);
      const std::string state = saved(first.reduce);
      restore(second.reduce, state);
      CHECK(second.reduce.step() == at);
      for (std::size_t size = 0; size < state.size(); size += 61) {
        CHECK_THROWS_AS(restore(second.reduce, state.substr(0, size)), StateError);
        std::string damaged = state;
        damaged[size] = static_cast<char>(damaged[size] ^ 1);
        if (size > 64 && at > 0) CHECK_THROWS_AS(restore(second.reduce, damaged), StateError);
      }
      for (Step step = at; step < at + 3; ++step) {
        CHECK(same_bits(first.clean_step(step), second.clean_step(step)));
      }
      CHECK(saved(first.reduce) == saved(second.reduce));
    }
    Replica<C, B> source(backend), sums(backend, {.reduction = Reduction::sum}), other(backend);
    source.clean_step(0);
    try {
      restore(sums.reduce, saved(source.reduce));
      FAIL_CHECK("a state of other options was taken");
    } catch (const StateError& error) {
      CHECK(contains(error.what(), "another options"));
    }
    Array<float, typename B::executor_type> small(backend.executor(), 5, 1.0f);
    other.reduce(small.span());
    CHECK_THROWS_AS(restore(other.reduce, saved(source.reduce)), StateError);
    CHECK(other.reduce(small.span()).entries == 5);
  });
}

/// The others' waits end, and leave everything as it was.
template <class C, World W>
void a_rank_stays_away() {
  if (!W::shared_fate) return;
  W::run(
      2,
      [](auto& backend) {
        using B = std::remove_reference_t<decltype(backend)>;
        Replica<C, B> replica(backend);
        replica.clean_step(0);
        if (replica.rank() == 1) return;
        const auto gradient = replica.values(1);
        const std::string state = saved(replica.reduce);
        replica.set(gradient);
        CHECK_THROWS_AS(replica.reduce(replica.parts()), BackendError);
        CHECK(same_bits(replica.gradient.read(), gradient));
        CHECK(saved(replica.reduce) == state);
      },
      patience);
}

/// Three steps of one rank, on matrices that are large enough for several threads: the gradient,
/// and all that is saved.
template <class C, Backend B>
std::pair<std::vector<float>, std::string> result_of(B& backend) {
  constexpr std::size_t rows = 1100, size = rows * 60;
  reducer_of<C, B> reduce{backend};
  Array<float, typename B::executor_type> gradient(backend.executor(), size + 999, 0.0f);
  const std::vector<Slice<float>> slices{{"w", gradient.span().first(size), rows},
                                         {"v", gradient.span().subspan(size)}};
  for (int step = 0; step < 3; ++step) {
    auto values = values_of<float>(step, size + 999);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (kernel::mix(i, 5) % 2 == 0) values[i] = 0;
    }
    backend.executor().write(std::span<const float>(values), gradient.span());
    reduce(slices);
  }
  return {gradient.read(), saved(reduce)};
}
template <class C, Backend B>
void gives_the_bits_of_the_host_backend(B& backend) {
  HostBackend host;
  const auto expected = result_of<C>(host), found = result_of<C>(backend);
  CHECK(same_bits(found.first, expected.first));
  CHECK(found.second == expected.second);
}

/// All of it.
template <class C, World W>
void check() {
  all_ranks_get_the_same_however_slices_are_cut<C, W>();
  a_step_is_refused_as_a_whole<C, W>();
  non_finite_values_propagate<C, W>();
  ranks_must_agree_on_shapes_and_steps<C, W>();
  a_state_goes_on_and_a_damaged_one_is_refused<C, W>();
  a_rank_stays_away<C, W>();
}

}  // namespace pactrain::test::own

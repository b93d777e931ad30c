// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/replica.hpp>

#include <pactrain/compress/compressor.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

/// What a reducer refuses, and what is left of it: nothing.
namespace pactrain::test::reducer {

inline constexpr NonFinite all_modes[] = {NonFinite::reject, NonFinite::propagate,
                                          NonFinite::ignore};

/// A reducer that goes through a bad step, and one that does not and is otherwise alike.
template <class C, Backend B>
struct Pair {
  Pair(B& backend, std::size_t n, NonFinite mode)
      : disturbed(backend, n, 0.5, {.non_finite = mode}),
        fresh(backend, n, 0.5, {.non_finite = mode}) {}
  /// Are both the same, now and in the next step?
  void check_alike(Step step) {
    CHECK(disturbed.reduce.step() == step);
    CHECK(disturbed.reduce.mask().fingerprint() == fresh.reduce.mask().fingerprint());
    CHECK(same_bits(disturbed.clean_step(step), fresh.clean_step(step)));
    CHECK(disturbed.reduce.mask().fingerprint() == fresh.reduce.mask().fingerprint());
  }
  Replica<C, B> disturbed, fresh;
};

/// The first position that is kept, or that is not.
inline std::size_t first_of(const std::vector<bool>& kept, bool wanted) {
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i] == wanted) return i;
  }
  return 0;
}
inline std::string place_of(std::size_t position, std::size_t n) {
  Model model;
  for (const std::size_t size : parts_of(n)) {
    model.add("p" + std::to_string(model.parts().size()), size);
  }
  return model.describe(position);
}

/// Exactly one rank has a value that is not finite, where the mask keeps it or not.
template <class C, World W>
void a_step_is_refused_as_a_whole() {
  on_each<W>([](auto& backend) {
    using T = typename C::value;
    constexpr std::size_t n = 65;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (int culprit = 0; culprit < backend.communicator().size(); ++culprit) {
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
        for (const bool where_kept : {true, false}) {
          CAPTURE(culprit);
          CAPTURE(bad);
          CAPTURE(where_kept);
          Pair<C, std::remove_reference_t<decltype(backend)>> pair(backend, n, NonFinite::reject);
          auto& replica = pair.disturbed;
          pair.check_alike(0);
          const std::size_t place = first_of(replica.kept(), where_kept);
          auto gradient = replica.values(1);
          if (replica.rank() == culprit) gradient[place] = T(bad);
          replica.set(gradient);
          const std::string text =
              refusal<StepRejected>(backend, [&] { replica.reduce(replica.span()); });
          const std::string blame = "rank " + std::to_string(culprit) + ": " + place_of(place, n);
          CHECK_MESSAGE(contains(text, blame), text);
          CHECK(same_bits(replica.get(), gradient));
          for (Step step = 1; step < 4; ++step) pair.check_alike(step);
        }
      }
    }
  });
}

/// With `propagate` a kept value carries through, with every codec; with `ignore` nobody objects.
template <class C, World W>
void non_finite_values_propagate() {
  on_each<W>([](auto& backend) {
    using T = typename C::value;
    using B = std::remove_reference_t<decltype(backend)>;
    constexpr std::size_t n = 65;
    constexpr bool carries =
        C::codec::additive && !has_bounds<typename C::codec, typename B::executor_type>;
    for (const NonFinite mode : {NonFinite::propagate, NonFinite::ignore}) {
      for (int culprit = 0; culprit < backend.communicator().size(); ++culprit) {
        Pair<C, B> pair(backend, n, mode);
        auto& replica = pair.disturbed;
        pair.check_alike(0);
        pair.fresh.clean_step(1);
        const std::size_t place = first_of(pair.fresh.kept(), true);
        auto gradient = replica.values(1);
        if (replica.rank() == culprit) gradient[place] = T(std::numeric_limits<float>::infinity());
        replica.set(gradient);
        const Report report = replica.reduce(replica.span());
        const auto result = replica.get();
        CHECK(report.non_finite == (mode == NonFinite::propagate));
        CHECK(same_on_all(backend, hash(result)));
        if (mode == NonFinite::propagate || carries) {
          CHECK(static_cast<double>(static_cast<arithmetic_t<T>>(result[place])) == HUGE_VAL);
          std::size_t others = 0;
          for (const T x : result) others += is_finite(x) ? 0 : 1;
          CHECK(others == 1);
        }
        if (mode == NonFinite::propagate && report.path != Path::local) {
          const Path expected = !carries ? Path::uncoded : C::learns ? Path::dense : Path::packed;
          CHECK(report.path == expected);
        }
        for (const T x : replica.clean_step(2)) {
          if (!is_finite(x)) FAIL_CHECK("a value is not finite one step later");
        }
      }
    }
  });
}

/// Exactly one rank passes another size, or a name that is not known.
template <class C, World W>
void wrong_calls_are_refused() {
  on_each<W>([](auto& backend) {
    using T = typename C::value;
    using B = std::remove_reference_t<decltype(backend)>;
    constexpr std::size_t n = 65;
    for (const NonFinite mode : all_modes) {
      for (int culprit = 0; culprit < backend.communicator().size(); ++culprit) {
        CAPTURE(culprit);
        Pair<C, B> pair(backend, n, mode);
        auto& replica = pair.disturbed;
        const bool mine = replica.rank() == culprit;
        const std::string blame = "rank " + std::to_string(culprit) + ": ";
        Array<T, typename B::executor_type> longer(backend.executor(), n + 1, T(1.0f));
        const auto passes = [&](auto&& wrong, auto&& right) {
          return refusal<PreconditionError>(backend, [&] {
            if (mine) replica.reduce(wrong);
            else replica.reduce(right);
          });
        };
        pair.check_alike(0);
        const std::string size = passes(longer.span(), replica.span());
        CHECK_MESSAGE(contains(size, blame + "66 entries were passed but the model has 65"), size);
        pair.check_alike(1);
        const std::vector<Slice<T>> unknown{{"nobody", longer.span().first(7)}};
        const std::string name = passes(unknown, replica.parts());
        CHECK_MESSAGE(contains(name, blame + "7 entries"), name);
        CHECK_MESSAGE(contains(name, "no part is called 'nobody'"), name);
        pair.check_alike(2);
        if (!C::shared || C::learns) continue;
        auto part = replica.parts();
        part.erase(part.begin() + 1, part.end());
        const std::vector<Slice<T>> short_one{
            {"p0", longer.span().first(part[0].values.size() - 1)}};
        const std::string named = passes(short_one, part);
        CHECK_MESSAGE(contains(named, blame + "'p0' has 20 entries but had 21"), named);
        pair.check_alike(3);
      }
    }
  });
}

/// Which rank is named where `culprit` alone differs: with two ranks it may be either, and is 1.
inline int named(int culprit, int ranks) { return ranks == 2 ? 1 : culprit; }

template <Backend B, class F>
void check_mismatch(B& backend, int culprit, const std::string& field, F f) {
  const int expected = named(culprit, backend.communicator().size());
  const std::string text = refusal<RankMismatch>(backend, [&] {
    try {
      f();
    } catch (const RankMismatch& error) {
      CHECK(error.field() == field);
      CHECK(error.rank() == expected);
      throw;
    }
  });
  CHECK_MESSAGE(contains(text, "ranks differ in " + field + ": rank " + std::to_string(expected)),
                text);
}

template <class C, World W>
void ranks_must_agree_on_options() {
  on_each<W>([](auto& backend) {
    using B = std::remove_reference_t<decltype(backend)>;
    constexpr std::size_t n = 65;
    const int ranks = backend.communicator().size();
    if (ranks == 1) return;
    for (int culprit = 0; culprit < ranks; ++culprit) {
      const bool mine = backend.communicator().rank() == culprit;
      ReduceOptions options[] = {{}, {}, {}};
      if (mine) options[0].seed = 9;
      if (mine) options[1].reduction = Reduction::sum;
      if (mine) options[2].non_finite = NonFinite::ignore;
      for (const ReduceOptions& each : options) {
        Replica<C, B> replica(backend, n, 0.5, each);
        const auto gradient = replica.values(0);
        replica.set(gradient);
        check_mismatch(backend, culprit, "options", [&] { replica.reduce(replica.parts()); });
        CHECK(same_bits(replica.get(), gradient));
        CHECK(replica.reduce.step() == 0);
      }
      if constexpr (C::remembers) {
        typename C::feedback feedback;
        if (mine) feedback.gamma = 0.5;
        Replica<C, B> replica(backend, n, 0.5, {}, feedback);
        check_mismatch(backend, culprit, "feedback", [&] { replica.reduce(replica.parts()); });
      }
    }
  });
}

}  // namespace pactrain::test::reducer

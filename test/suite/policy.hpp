// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/plain_executor.hpp>
#include <suite/policy_support.hpp>

#include <pactrain/core/archive.hpp>
#include <pactrain/policy/block_magnitude.hpp>
#include <pactrain/policy/by_score.hpp>
#include <pactrain/policy/cyclic_top_k.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/policy/n_of_m.hpp>
#include <pactrain/policy/non_zero.hpp>
#include <pactrain/policy/non_zero_blocks.hpp>
#include <pactrain/policy/one_shot_magnitude.hpp>
#include <pactrain/policy/pruned.hpp>
#include <pactrain/policy/random_block.hpp>
#include <pactrain/policy/random_k.hpp>
#include <pactrain/policy/random_pruning.hpp>
#include <pactrain/policy/rig_l.hpp>
#include <pactrain/policy/sampled_top_k.hpp>
#include <pactrain/policy/sidco.hpp>
#include <pactrain/policy/threshold.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/policy/track_zeros.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

/// What every policy must do, on any executor: exact counts, ties by lowest index, the same set as
/// a serial sort and as an executor without fast paths, however pieces are cut.
namespace pactrain::test::policy {

inline constexpr std::size_t sizes[] = {0, 1, 63, 64, 65, 1000, 100000};
inline constexpr Scope scopes[] = {Scope::per_parameter, Scope::global};

/// Parts of uneven sizes, some of them empty, that together begin inside words.
inline std::vector<std::size_t> layout(std::size_t n) { return {n, 7, n / 3, 0, 65, 1}; }
inline std::size_t total(const std::vector<std::size_t>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::size_t{0});
}

/// `f(values, net)` for models of every size and type, with and without ties.
template <Executor E, class F>
void on_models(E& exec, F f) {
  for (const std::size_t n : sizes) {
    for_gradient_types([&]<class T>() {
      CAPTURE(n);
      CAPTURE(name_of(value_type<T>));
      const auto parts = layout(n);
      const auto spread = values_of<T>(0, total(parts));
      f(spread, Net<T, E>(exec, parts, spread));
      const auto tied = tied_values<T>(total(parts), n);
      f(tied, Net<T, E>(exec, parts, tied));
    });
  }
}

template <Executor E>
void magnitudes_are_pruned_exactly() {
  E exec;
  on_models(exec, [&]<class T>(const std::vector<T>& values, const Net<T, E>& net) {
    for (const double sparsity : {0.0, 0.5, 0.9, 0.999}) {
      for (const Scope scope : scopes) {
        const Flags kept = decided(
            exec, OneShotMagnitude{.weights = net.weights, .sparsity = sparsity, .scope = scope},
            net.model, net.places());
        CHECK(kept == by_sort(net.model, values, scope,
                              [&](std::size_t n) { return n - fraction_of(n, sparsity); }));
      }
    }
  });
}

template <Executor E>
void top_k_is_exact() {
  E exec;
  on_models(exec, [&]<class T>(const std::vector<T>& values, const Net<T, E>& net) {
    for (const Scope scope : scopes) {
      for (const double fraction : {0.001, 0.25, 1.0}) {
        const auto expected = by_sort(net.model, values, scope, [&](std::size_t n) {
          return std::min(n, std::max<std::size_t>(1, fraction_of(n, fraction)));
        });
        const TopK options{.fraction = fraction, .scope = scope};
        CHECK(decided(exec, options, net.model, net.whole()) == expected);
        CHECK(decided(exec, options, net.model, net.shredded(7)) == expected);
      }
      const auto three = by_sort(net.model, values, scope,
                                 [](std::size_t n) { return std::min<std::size_t>(n, 3); });
      CHECK(decided(exec, TopK{.k = 3, .scope = scope}, net.model, net.shredded(8)) == three);
    }
  });
}

template <Executor E>
void random_sets_have_their_size() {
  E exec;
  on_models(exec, [&]<class T>(const std::vector<T>&, const Net<T, E>& net) {
    for (const double sparsity : {0.0, 0.3, 0.9}) {
      const Flags kept =
          decided(exec, RandomPruning{.sparsity = sparsity, .seed = 5}, net.model, net.places());
      for (const Part& part : net.model.parts()) {
        const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(part.first);
        CHECK(std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(part.size),
                              std::size_t{0}) == part.size - fraction_of(part.size, sparsity));
      }
      PlainExecutor plain;
      CHECK(kept == decided(plain, RandomPruning{.sparsity = sparsity, .seed = 5}, net.model,
                            net.places()));
    }
  });
}

template <Executor E>
void n_of_m_keeps_n_of_each_m() {
  E exec;
  on_models(exec, [&]<class T>(const std::vector<T>& values, const Net<T, E>& net) {
    Flags expected(net.model.size());
    for (const Part& part : net.model.parts()) {
      for (std::size_t at = 0; at < part.size; at += 4) {
        const std::size_t n = std::min<std::size_t>(4, part.size - at);
        keep_by_sort(values, part.first + at, n, 2, expected);
      }
    }
    CHECK(decided(exec, NofM<2, 4>{.weights = net.weights}, net.model, net.places()) == expected);
  });
}

template <Executor E>
void blocks_are_pruned_exactly() {
  E exec;
  on_models(exec, [&]<class T>(const std::vector<T>& values, const Net<T, E>& net) {
    constexpr std::size_t B = 8;
    std::vector<double> scores;
    Model blocks;
    for (const Part& part : net.model.parts()) {
      blocks.add(part.name, (part.size + B - 1) / B);
      for (std::size_t at = 0; at < part.size; at += B) {
        const std::size_t n = std::min(B, part.size - at);
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
          sum += std::abs(double(arithmetic_t<T>(values[part.first + at + i])));
        }
        scores.push_back(sum / static_cast<double>(n));
      }
    }
    for (const Scope scope : scopes) {
      const Flags kept =
          by_sort(blocks, scores, scope, [](std::size_t n) { return n - fraction_of(n, 0.7); });
      Flags expected;
      for (std::size_t p = 0; p < blocks.parts().size(); ++p) {
        for (std::size_t i = 0; i < net.model.parts()[p].size; ++i) {
          expected.push_back(kept[blocks.parts()[p].first + i / B]);
        }
      }
      CHECK(decided(exec,
                    BlockMagnitude<B>{.weights = net.weights, .sparsity = 0.7, .scope = scope},
                    net.model, net.places()) == expected);
    }
  });
}

template <Executor E>
void thresholds_compare_exactly() {
  E exec;
  on_models(exec, [&]<class T>(const std::vector<T>& values, const Net<T, E>& net) {
    for (const double value : {0.0, 0.5, 0.7, 1.25, 1e-300, 1e300}) {
      Flags expected;
      for (const T x : values) {
        expected.push_back(std::abs(double(arithmetic_t<T>(x))) >= value ? 1 : 0);
      }
      CHECK(decided(exec, Threshold{.value = value}, net.model, net.shredded(3)) == expected);
    }
    Flags expected;
    for (const T x : values) expected.push_back(magnitude(x) != 0 ? 1 : 0);
    CHECK(decided(exec, NonZero{}, net.model, net.shredded(4)) == expected);
  });
}

/// The answers of shared policies do not depend on how pieces are cut, nor on being asked twice.
template <Executor E>
void shared_answers_do_not_depend_on_cuts() {
  E exec;
  on_models(exec, [&]<class T>(const std::vector<T>& values, const Net<T, E>& net) {
    const auto check = [&]<class P>(const P& options) {
      static_assert(PruningPolicy<P, E> && P::support == Support::shared);
      typename P::template on<E> policy(options);
      CHECK(policy.revision(9) == policy.revision(9));
      const Flags first = decided(exec, policy, net.model, net.places(), 9);
      CHECK(answers(exec, policy, net.model, net.shredded(1)) == first);
      CHECK(decided(exec, policy, net.model, net.shredded(2), 9) == first);
    };
    check(OneShotMagnitude{.weights = net.weights, .sparsity = 0.6});
    check(GradualMagnitude{.weights = net.weights, .final_sparsity = 0.6, .begin = 2, .end = 20});
    check(RandomPruning{.sparsity = 0.6});
    check(NofM<1, 3>{.weights = net.weights});
    check(BlockMagnitude<5>{.weights = net.weights, .sparsity = 0.6});
    check(KeepAll{});
    check(TrackZeros{});
    check(RandomK{.fraction = 0.4, .scope = Scope::global});
    check(RandomBlock{.fraction = 0.4});
    check(ByScore{.scores = net.weights, .sparsity = 0.6});
    check(RigL{.weights = net.weights, .sparsity = 0.6, .every = 9, .end = 99});
    std::vector<bool> flags;
    for (const T x : values) flags.push_back(magnitude(x) > magnitude(to<T>(0.5)));
    check(Pruned::from_flags(flags));
  });
}

/// What policies choose by gradients depends on neither cuts nor executor, estimates included.
template <Executor E>
void selections_do_not_depend_on_cuts() {
  E exec;
  PlainExecutor plain;
  for (const std::size_t n : sizes) {
    CAPTURE(n);
    const auto values = values_of<float>(2, total(layout(n)));
    const Net<float, E> net(exec, layout(n), values);
    const Net<float, PlainExecutor> oracle(plain, layout(n), values);
    const auto check = [&](const auto& options) {
      const Flags whole = decided(exec, options, net.model, net.whole(), 3);
      CHECK(decided(exec, options, net.model, net.shredded(5), 3) == whole);
      CHECK(decided(plain, options, oracle.model, oracle.shredded(6), 3) == whole);
    };
    check(CyclicTopK{.chunk = 10});
    check(CyclicTopK{.fraction = 0.1, .scope = Scope::global});
    check(SIDCo{.fraction = 0.01, .stages = 3});
    check(SIDCo{.fraction = 0.1, .fit = Fit::gamma, .scope = Scope::global});
    check(SampledTopK{.fraction = 0.02});
    check(NonZeroBlocks<16>{.threshold = 50});
  }
}

/// What is pruned stays pruned, even where pruned weights grow again, and a decision that is taken
/// again, because the step was refused, is the same.
template <Executor E>
void gradual_pruning_never_takes_back() {
  E exec;
  PlainExecutor plain;
  for (const Scope scope : scopes) {
    const std::vector<std::size_t> parts{100, 64, 1, 331};
    const auto options = [&](const auto& net) {
      return GradualMagnitude{.weights = net.weights,
                              .final_sparsity = 0.9,
                              .begin = 1,
                              .end = 20,
                              .every = 2,
                              .scope = scope};
    };
    Net<float, E> net(exec, parts, tied_values<float>(496, 0));
    Net<float, PlainExecutor> oracle(plain, parts, tied_values<float>(496, 0));
    typename GradualMagnitude::on<E> policy(options(net));
    GradualMagnitude::on<PlainExecutor> slow(options(oracle));
    Flags before(496, 1);
    for (Step step = 0; step < 24; ++step) {
      CAPTURE(step);
      const auto weights = tied_values<float>(496, step);
      exec.write(std::span<const float>(weights), net.span());
      plain.write(std::span<const float>(weights), oracle.span());
      if (step > 0 && policy.revision(step) == policy.revision(step - 1)) continue;
      const Flags kept = decided(exec, policy, net.model, net.places(), step);
      CHECK(kept == decided(plain, slow, oracle.model, oracle.places(), step));
      CHECK(kept == decided(exec, policy, net.model, net.places(), step));
      for (std::size_t i = 0; i < kept.size(); ++i) CHECK(kept[i] <= before[i]);
      const double sparsity = step < 1 ? 0 : options(net).sparsity_at(step);
      std::size_t expected = 0;
      for (const std::size_t n : parts) expected += n - fraction_of(n, sparsity);
      if (scope == Scope::global) expected = 496 - fraction_of(496, sparsity);
      CHECK(count(kept) == expected);
      before = kept;
    }
  }
}

template <Executor E>
void exempt_parts_are_kept_whole() {
  E exec;
  const std::vector<std::size_t> parts{70, 10, 130};
  const auto values = tied_values<float>(210, 1);
  const Net<float, E> net(exec, parts, values);
  const auto check = [&](const auto& options, const auto& pieces, std::size_t expected) {
    const Flags kept = decided(exec, options, net.model, pieces);
    for (std::size_t i = 70; i < 80; ++i) CHECK(kept[i] == 1);
    CHECK(count(kept) == expected);
  };
  const std::vector<std::string> exempt{"p1"};
  const auto places = net.places();
  check(OneShotMagnitude{.weights = net.weights, .sparsity = 0.9, .exempt = exempt}, places, 30);
  check(
      OneShotMagnitude{
          .weights = net.weights, .sparsity = 0.9, .scope = Scope::global, .exempt = exempt},
      places, 30);
  check(GradualMagnitude{.weights = net.weights, .final_sparsity = 0.9, .exempt = exempt}, places,
        30);
  check(RandomPruning{.sparsity = 0.9, .exempt = exempt}, places, 30);
  check(NofM<1, 10>{.weights = net.weights, .exempt = exempt}, places, 30);
  check(BlockMagnitude<10>{.weights = net.weights, .sparsity = 0.5, .exempt = exempt}, places,
        10 + 40 + 70);
  check(TopK{.k = 10, .exempt = exempt}, net.shredded(3), 30);
  check(TopK{.k = 10, .scope = Scope::global, .exempt = exempt}, net.shredded(3), 20);
  check(Threshold{.value = 100, .exempt = exempt}, net.shredded(3), 10);
}

/// A decision that fails leaves the last one standing.
template <Executor E>
void failed_decisions_change_nothing() {
  E exec;
  const std::vector<std::size_t> parts{70, 130};
  const auto check = [&]<class P>(auto make, const P*) {
    Net<float, E> net(exec, parts, values_of<float>(0, 200));
    typename P::template on<E> policy(make(net.weights));
    const Flags before = decided(exec, policy, net.model, net.places(), 1);
    auto broken = values_of<float>(1, 200);
    broken[77] = -std::numeric_limits<float>::quiet_NaN();
    exec.write(std::span<const float>(broken), net.span());
    CHECK(message_of<PreconditionError>([&] {
            static_cast<void>(decided(exec, policy, net.model, net.places(), 2));
          }).find("the weights hold a NaN at entry 7 of 'p1' (") != std::string::npos);
    CHECK(answers(exec, policy, net.model, net.places()) == before);
    exec.write(std::span<const float>(values_of<float>(0, 200)), net.span());
    CHECK(count(decided(exec, policy, net.model, net.places(), 2)) <= count(before));
  };
  using Gradual = GradualMagnitude;
  check([](const Values& w) { return Gradual{.weights = w, .final_sparsity = 0.9, .end = 4}; },
        static_cast<const Gradual*>(nullptr));
  check([](const Values& w) { return OneShotMagnitude{.weights = w, .sparsity = 0.5, .step = 2}; },
        static_cast<const OneShotMagnitude*>(nullptr));
  check([](const Values& w) { return NofM<2, 4>{.weights = w, .step = 1, .every = 1}; },
        static_cast<const NofM<2, 4>*>(nullptr));
  check([](const Values& w) { return BlockMagnitude<8>{.weights = w, .sparsity = 0.5, .step = 2}; },
        static_cast<const BlockMagnitude<8>*>(nullptr));
}

/// A tracker that sees patterns of ones as reduced gradients of one part.
template <Executor E>
struct Tracker {
  explicit Tracker(std::uint64_t patience, std::size_t n)
      : policy(TrackZeros{.patience = patience}), size(n) {
    model.add("p", n);
  }
  void see(const std::string& pattern, std::size_t cut_at = 0) {
    std::vector<float> values;
    for (const char c : pattern) values.push_back(c == '1' ? -2.5f : -0.0f);
    const Array<float, E> array(exec, std::span<const float>(values));
    std::vector<Piece<const float>> pieces;
    pactrain::cut(model, 0, cut_at, array.view().data(), pieces);
    pactrain::cut(model, cut_at, size - cut_at, array.view().data() + cut_at, pieces);
    policy.observe(exec, model, std::span<const Piece<const float>>(pieces), step++);
  }
  std::string kept() {
    std::vector<Piece<const float>> pieces;
    pactrain::cut<const float>(model, 0, size, nullptr, pieces);
    std::string text;
    for (const auto flag : answers(exec, policy, model, pieces)) text += flag != 0 ? '1' : '0';
    return text;
  }

  E exec;
  TrackZeros::on<E> policy;
  Model model;
  std::size_t size;
  Step step = 0;
};

/// Z: 01011011 -> 01001010 (2 changes) -> same -> same (latch), for any cut into pieces.
template <Executor E>
void zeros_are_learned() {
  for (const std::size_t cut_at : {0u, 3u, 8u}) {
    Tracker<E> tracker(2, 8);
    const auto start = tracker.policy.revision(0);
    for (const char* pattern : {"10100100", "10010101", "10010101"}) {
      tracker.see(pattern, cut_at);
      CHECK(tracker.kept() == "11111111");
      CHECK(tracker.policy.revision(0) == start);
    }
    tracker.see("10010101", cut_at);
    CHECK(tracker.policy.revision(0) != start);
    CHECK(tracker.kept() == "10110101");
    tracker.see("10010100", cut_at);
    CHECK(tracker.kept() == "10110101");

    const auto latched = tracker.policy.revision(0);
    tracker.policy.restart();
    CHECK(tracker.policy.revision(0) != latched);
    CHECK(tracker.kept() == "11111111");
    for (int i = 0; i < 2; ++i) tracker.see("11110101", cut_at);
    CHECK(tracker.kept() == "11111111");
    tracker.see("11110101", cut_at);
    CHECK(tracker.kept() == "11110101");
  }
}

/// A change in the last observation but one starts the count anew.
template <Executor E>
void patience_counts_unchanged_observations() {
  Tracker<E> tracker(10, 130);
  const std::string zero(130, '0'), one = '1' + zero.substr(1);
  tracker.see(zero);
  for (int i = 0; i < 9; ++i) tracker.see(zero);
  tracker.see(one);
  for (int i = 0; i < 9; ++i) {
    tracker.see(zero);
    CHECK(tracker.kept() == std::string(130, '1'));
  }
  tracker.see(zero);
  CHECK(tracker.kept() == one);
}

/// Parts learn separately, also where they are observed in different calls.
template <Executor E>
void parts_learn_separately() {
  E exec;
  const std::vector<float> values(140, 0.0f);
  const Net<float, E> net(exec, {70, 70}, values);
  TrackZeros::on<E> policy(TrackZeros{.patience = 1});
  const auto pieces = net.whole();
  const std::span<const Piece<const float>> all(pieces);
  policy.observe(exec, net.model, all.first(1), 0);
  policy.observe(exec, net.model, all.last(1), 0);
  policy.observe(exec, net.model, all.first(1), 1);
  const Flags kept = answers(exec, policy, net.model, pieces);
  CHECK(count(kept) == 70);
  CHECK(kept[69] == 0);
  CHECK(kept[70] == 1);
  policy.observe(exec, net.model, all.last(1), 1);
  CHECK(count(answers(exec, policy, net.model, pieces)) == 0);
}

/// Saved and loaded policies go on as if nothing had happened.
template <Executor E>
void state_survives() {
  E exec;
  const auto reload = [&](const auto& from, auto& to, const Model& model) {
    std::stringstream stream;
    Writer writer(stream);
    from.save(exec, writer);
    writer.finish();
    Reader reader(stream);
    to.load(exec, model, reader);
    reader.finish();
  };
  Net<float, E> net(exec, {100, 33}, tied_values<float>(133, 0));
  const GradualMagnitude options{.weights = net.weights, .final_sparsity = 0.9, .end = 10};
  GradualMagnitude::on<E> one(options), two(options);
  for (Step step = 0; step < 5; ++step) {
    static_cast<void>(decided(exec, one, net.model, net.places(), step));
  }
  reload(one, two, net.model);
  exec.write(std::span<const float>(tied_values<float>(133, 9)), net.span());
  CHECK(decided(exec, two, net.model, net.places(), 4) ==
        answers(exec, one, net.model, net.places()));
  CHECK(decided(exec, one, net.model, net.places(), 7) ==
        decided(exec, two, net.model, net.places(), 7));

  Tracker<E> before(2, 8), after(2, 8);
  for (const char* pattern : {"10100100", "10010101", "10010101"}) before.see(pattern);
  reload(before.policy, after.policy, before.model);
  after.see("10010101");
  CHECK(after.kept() == "10110101");

  Model other;
  other.add("p", 9);
  std::stringstream stream;
  Writer writer(stream);
  after.policy.save(exec, writer);
  Reader reader(stream);
  CHECK_THROWS_AS(before.policy.load(exec, other, reader), StateError);
  before.see("10010101");
  CHECK(before.kept() == "10110101");
}

TEST_CASE_TEMPLATE_DEFINE("policy", E, policy_suite) {
  SUBCASE("magnitudes are pruned exactly") { magnitudes_are_pruned_exactly<E>(); }
  SUBCASE("top k is exact") { top_k_is_exact<E>(); }
  SUBCASE("random sets have their size") { random_sets_have_their_size<E>(); }
  SUBCASE("n of m keeps n of each m") { n_of_m_keeps_n_of_each_m<E>(); }
  SUBCASE("blocks are pruned exactly") { blocks_are_pruned_exactly<E>(); }
  SUBCASE("thresholds compare exactly") { thresholds_compare_exactly<E>(); }
  SUBCASE("answers do not depend on cuts") { shared_answers_do_not_depend_on_cuts<E>(); }
  SUBCASE("selections do not depend on cuts") { selections_do_not_depend_on_cuts<E>(); }
  SUBCASE("gradual pruning never takes back") { gradual_pruning_never_takes_back<E>(); }
  SUBCASE("exempt parts are kept whole") { exempt_parts_are_kept_whole<E>(); }
  SUBCASE("failed decisions change nothing") { failed_decisions_change_nothing<E>(); }
  SUBCASE("zeros are learned") { zeros_are_learned<E>(); }
  SUBCASE("patience counts") { patience_counts_unchanged_observations<E>(); }
  SUBCASE("parts learn separately") { parts_learn_separately<E>(); }
  SUBCASE("state survives") { state_survives<E>(); }
}

}  // namespace pactrain::test::policy

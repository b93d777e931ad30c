// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/pactrain.hpp>

#include <contract/team.hpp>

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// The compressors that are held to one contract: a table, a line each.
namespace pactrain::test::contract {

template <class T>
using Slices = std::vector<Slice<T>>;

/// A reducer of gradients of type T, whatever it is made of.
template <GradientValue T>
class AnyReducer {
 public:
  virtual ~AnyReducer() = default;
  [[nodiscard]] virtual Pending start(const Slices<T>& gradient, Contribution contribution) = 0;
  [[nodiscard]] virtual bool takes_parts() const = 0;
  /// Clears what the mask does not keep.
  virtual void apply_mask(std::span<float> values) = 0;
  [[nodiscard]] virtual Step step() const = 0;
  virtual void save(std::ostream& out) = 0;
  virtual void load(std::istream& in) = 0;
  virtual void load(std::span<std::istream* const> states, Residuals rule) = 0;
};

template <class R, GradientValue T>
class ReducerOf final : public AnyReducer<T> {
 public:
  template <class... Options>
  explicit ReducerOf(Team& backend, const Options&... options) : reduce_(backend, options...) {}

  Pending start(const Slices<T>& gradient, Contribution contribution) override {
    return reduce_.start(gradient, contribution);
  }
  bool takes_parts() const override { return R::takes_parts; }
  void apply_mask(std::span<float> values) override { reduce_.mask().apply(values); }
  Step step() const override { return reduce_.step(); }
  void save(std::ostream& out) override { reduce_.save(out); }
  void load(std::istream& in) override { reduce_.load(in); }
  void load(std::span<std::istream* const> states, Residuals rule) override {
    reduce_.load(states, rule);
  }

 private:
  R reduce_;
};

/// What a system promises beyond what all do.
struct Promises {
  /// How far a result may be from the dense mean at entries that the mask keeps, as a share of the
  /// largest value sent; negative: it says nothing about a single step.
  double error = -1;
  bool conserves = false;    ///< sum of results = sum of gradients - residuals, over steps
  bool bytes = false;        ///< residuals are stored in a byte each
  bool halves = false;       ///< sums travel in two bytes, rounded
  bool prunes = false;       ///< what the mask does not keep is dropped, and stays +0.0
  bool draws = false;        ///< another seed, other values
  bool moves_zeros = false;  ///< an entry that is zero everywhere may become another value
  bool shards = false;       ///< a rank gets its share, and zeros elsewhere
  int node = 1;              ///< the number of ranks is a multiple of it
};

/// A compressor of the literature, or of this library's own.
struct System {
  template <class T>
  using Maker =
      std::function<std::unique_ptr<AnyReducer<T>>(Team&, const Values&, const ReduceOptions&)>;

  std::string name;
  Promises promises;
  std::tuple<Maker<float>, Maker<double>, Maker<float16>, Maker<bfloat16>> makers;

  /// For a model with these weights.
  template <GradientValue T>
  [[nodiscard]] std::unique_ptr<AnyReducer<T>> make(Team& backend, const Values& weights,
                                                    const ReduceOptions& options) const {
    return std::get<Maker<T>>(makers)(backend, weights, options);
  }
};

/// One that is made of these parts; `policy(weights)` makes its policy.
template <class P, class M, class Z = Identity, class F = NoFeedback, class MakePolicy>
System system(std::string name, const Promises& promises, MakePolicy policy, const Z& codec = {},
              const F& feedback = {}) {
  const auto maker = [=]<class T>(T) {
    return [=](Team& backend, const Values& weights,
               const ReduceOptions& options) -> std::unique_ptr<AnyReducer<T>> {
      using R = ReducerOf<SparseAllReduce<P, M, Team, Z, F>, T>;
      return std::make_unique<R>(backend, policy(weights), codec, feedback, options);
    };
  };
  return {
      std::move(name), promises, {maker(0.0f), maker(0.0), maker(float16{}), maker(bfloat16{})}};
}

/// One that sends all entries.
template <class Z, class F = NoFeedback>
System dense(std::string name, const Promises& promises, Z codec = {}, F feedback = {}) {
  return system<KeepAll, FullMask>(
      std::move(name), promises, [](const Values&) { return KeepAll{}; }, codec, feedback);
}

/// All of them; the others by family, each compiled on its own.
[[nodiscard]] const std::vector<System>& systems();
[[nodiscard]] std::vector<System> coded_systems();
[[nodiscard]] std::vector<System> quantised_systems();
[[nodiscard]] std::vector<System> scattered_systems();
[[nodiscard]] std::vector<System> pruned_systems();
[[nodiscard]] std::vector<System> selected_systems();
[[nodiscard]] std::vector<System> gathered_systems();
[[nodiscard]] std::vector<System> owned_systems();

}  // namespace pactrain::test::contract

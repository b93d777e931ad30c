// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/replica.hpp>
#include <suite/values.hpp>

#include <pactrain/algorithm/agreement.hpp>

#include <contract/system.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <vector>

/// A rank of a system, and what is done with it.
namespace pactrain::test::contract {

using reducer::refusal;

/// The parameters of a model: sizes, and rows where it is a matrix.
struct Shape {
  struct Parameter {
    std::size_t size, rows;
  };
  std::vector<Parameter> parameters;

  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const Parameter& parameter : parameters) sum += parameter.size;
    return sum;
  }
  /// Slices of `x`, by name.
  template <class T>
  [[nodiscard]] Slices<T> named(std::span<T> x) const {
    Slices<T> slices;
    std::size_t first = 0;
    for (const auto& [size, rows] : parameters) {
      slices.push_back({"p" + std::to_string(slices.size()), x.subspan(first, size), rows});
      first += size;
    }
    return slices;
  }
};

/// Vectors and matrices that start inside words of a mask, and an empty parameter.
inline const Shape matrices{{{7, 0}, {240, 12}, {0, 0}, {210, 6}, {3, 1}}};
inline const Shape one_entry{{{1, 0}}};
/// Parameters that end where a word does, before it, behind it.
inline const Shape words{{{64, 0}, {63, 0}, {1, 0}, {65, 0}}};

/// How a gradient is handed over.
enum class Cut : std::uint8_t {
  by_name,  ///< the parameters
  whole,    ///< one slice without a name
  odd,      ///< runs without names, inside which parameters and words end
  apart     ///< calls of their own, where the system allows that: the last parameter, the others
};

template <GradientValue T>
struct Outcome {
  std::vector<T> values;
  Report report;
};

template <GradientValue T>
class Replica {
 public:
  Replica(Team& backend, const System& system, const Shape& shape, ReduceOptions options = {},
          std::size_t offset = 0)
      : backend_(backend),
        system_(system),
        shape_(shape),
        offset_(guard + offset),
        weights_(values_of<float>(7, shape.size())),
        memory_(offset_ + shape.size() + guard, marker()),
        reducer_(system.make<T>(backend, Values(shape.named(std::span<const float>(weights_))),
                                options)) {}

  [[nodiscard]] AnyReducer<T>& reducer() { return *reducer_; }
  [[nodiscard]] const System& system() const { return system_; }
  [[nodiscard]] std::size_t size() const { return shape_.size(); }
  [[nodiscard]] int rank() const { return backend_.communicator().rank(); }
  [[nodiscard]] int ranks() const { return backend_.communicator().size(); }

  /// The gradient of a rank at a step.
  [[nodiscard]] std::vector<T> gradient_of(int rank, Step step) const {
    return values_of<T>(rank + 100 * static_cast<int>(step), size());
  }
  /// Hands `gradient` over, and gives what it has become on all ranks, shares put together.
  Outcome<T> reduce(const std::vector<T>& gradient, Cut cut = Cut::by_name,
                    Contribution contribution = Contribution::gradient) {
    set(gradient);
    Outcome<T> outcome;
    outcome.report = call(cut, contribution);
    outcome.values = system_.promises.shards ? put_together() : get();
    return outcome;
  }
  /// This rank's own gradient of a step.
  std::vector<T> step(Step step, Cut cut = Cut::by_name) {
    return reduce(gradient_of(rank(), step), cut).values;
  }
  void set(const std::vector<T>& gradient) { std::ranges::copy(gradient, span().begin()); }
  /// The gradient as it stands; nothing beside it was touched.
  [[nodiscard]] std::vector<T> get() {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const bool inside = i >= offset_ && i < offset_ + size();
      if (!inside && std::memcmp(&memory_[i], &mark_, sizeof(T)) != 0) {
        FAIL_CHECK("memory beside the gradient was written to");
      }
    }
    return {span().begin(), span().end()};
  }
  /// Which entries the mask keeps.
  [[nodiscard]] std::vector<bool> kept() {
    std::vector<float> ones(size(), 1.0f);
    reducer_->apply_mask(ones);
    return {ones.begin(), ones.end()};
  }
  [[nodiscard]] std::string saved() {
    std::ostringstream out;
    reducer_->save(out);
    return out.str();
  }
  void restore(const std::string& state) {
    std::istringstream in(state);
    reducer_->load(in);
  }
  /// A slice of the gradient, to be passed by hand.
  [[nodiscard]] std::span<T> span() { return std::span(memory_).subspan(offset_, size()); }
  [[nodiscard]] const Shape& shape() const { return shape_; }

 private:
  static constexpr std::size_t guard = 4;

  T marker() {
    std::memset(static_cast<void*>(&mark_), 0x5b, sizeof(T));
    return mark_;
  }
  Report call(Cut cut, Contribution contribution) {
    const std::span<T> x = span();
    switch (cut) {
      case Cut::by_name:
        return wait(reducer_->start(shape_.named(x), contribution));
      case Cut::whole:
        return wait(reducer_->start({{{}, x}}, contribution));
      case Cut::odd: {
        Slices<T> slices;
        std::size_t first = 0;
        for (std::size_t run = 1; first < x.size(); run = 3 * run + 2) {
          const std::size_t size = std::min(run, x.size() - first);
          slices.push_back({{}, x.subspan(first, size)});
          first += size;
        }
        return wait(reducer_->start(slices, contribution));
      }
      default:
        return call_apart(contribution);
    }
  }
  Report call_apart(Contribution contribution) {
    Slices<T> others = shape_.named(span());
    if (!reducer_->takes_parts() || others.size() < 2) return call(Cut::by_name, contribution);
    const Slices<T> last{others.back()};
    others.pop_back();
    Pending first = reducer_->start(last, contribution);
    first.advance();
    Report report = wait(reducer_->start(others, contribution));
    const Report& end = first.report();
    report.entries += end.entries;
    report.kept += end.kept;
    report.bytes_sent += end.bytes_sent;
    return report;
  }
  static Report wait(Pending pending) { return pending.report(); }
  std::vector<T> put_together() {
    const std::vector<T> mine = get();
    const auto all =
        gather_host_values(backend_.executor(), backend_.communicator(), std::span<const T>(mine));
    std::vector<T> whole(size());
    for (std::size_t at = 0; at < all.size(); ++at) {
      T& x = whole[at % size()];
      if (magnitude(all[at]) == 0) continue;
      const bool owned_once = magnitude(x) == 0 || magnitude(x) == magnitude(all[at]);
      x = owned_once ? all[at] : T(HUGE_VALF);
    }
    return whole;
  }

  Team& backend_;
  const System& system_;
  const Shape& shape_;
  std::size_t offset_;
  std::vector<float> weights_;
  T mark_;
  std::vector<T> memory_;
  std::unique_ptr<AnyReducer<T>> reducer_;
};

/// Calls `body(backend, system)` on every number of ranks up to `most`, for every system, each in a
/// subcase.
template <class Body>
void for_all(Body body, int most = 3) {
  for (const System& system : systems()) {
    SUBCASE(system.name.c_str()) {
      for (const int ranks : team_sizes()) {
        if (ranks > most || ranks % system.promises.node != 0) continue;
        CAPTURE(ranks);
        on_team(ranks, [&](Team& backend) { body(backend, system); });
      }
    }
  }
}

/// Are these values the same on all ranks? Collective.
template <class T>
[[nodiscard]] bool same_on_all(Team& backend, const std::vector<T>& mine) {
  return reducer::same_on_all(backend, reducer::hash(mine));
}

}  // namespace pactrain::test::contract

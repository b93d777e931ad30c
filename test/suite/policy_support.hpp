// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/values.hpp>
#include <suite/world.hpp>

#include <pactrain/core/model.hpp>
#include <pactrain/policy/policy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace pactrain::test {

/// One flag per position of a model.
using Flags = std::vector<std::uint8_t>;

/// A number as a gradient value.
template <GradientValue T>
T to(double x) {
  return T(static_cast<arithmetic_t<T>>(x));
}

/// Random values of which many are equal in magnitude, and some are zero.
template <GradientValue T>
std::vector<T> tied_values(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(n);
  for (T& x : values) x = to<T>((static_cast<double>(random() % 17) - 8) / 4);
  return values;
}

/// A model of parts "p0", "p1", ... in an executor's memory.
template <GradientValue T, Executor E>
class Net {
 public:
  Net(E& exec, const std::vector<std::size_t>& sizes, const std::vector<T>& values)
      : array_(exec, std::span<const T>(values)) {
    std::vector<Slice<const T>> slices;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::size_t first = model.size();
      model.add("p" + std::to_string(i), sizes[i]);
      slices.push_back({"p" + std::to_string(i), array_.view().subspan(first, sizes[i])});
    }
    weights = Values(slices);
  }

  /// One piece per part.
  [[nodiscard]] std::vector<Piece<const T>> whole() const {
    std::vector<Piece<const T>> pieces;
    cut(model, 0, model.size(), array_.view().data(), pieces);
    return pieces;
  }
  /// Pieces cut at odd places, in any order.
  [[nodiscard]] std::vector<Piece<const T>> shredded(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::vector<Piece<const T>> pieces;
    for (std::size_t at = 0; at < model.size();) {
      const std::size_t n =
          std::min<std::size_t>(model.size() - at, 1 + random() % (model.size() / 5 + 1));
      cut(model, at, n, array_.view().data() + at, pieces);
      at += n;
    }
    std::shuffle(pieces.begin(), pieces.end(), random);
    return pieces;
  }
  /// The same places, without values.
  [[nodiscard]] std::vector<Piece<const float>> places() const {
    std::vector<Piece<const float>> pieces;
    cut<const float>(model, 0, model.size(), nullptr, pieces);
    return pieces;
  }
  [[nodiscard]] std::span<T> span() const { return array_.span(); }

  Model model;
  Values weights;

 private:
  Array<T, E> array_;
};

template <class Keep>
struct StoreKept {
  Keep keep;
  std::uint8_t* out;
  PACTRAIN_FN void operator()(std::size_t i) const { out[i] = keep(i) ? 1 : 0; }
};

/// What the policy answers for these pieces, which need not be those it was prepared with.
template <Executor E, class PolicyOn, class T>
Flags answers(E& exec, const PolicyOn& policy, const Model& model,
              const std::vector<Piece<T>>& pieces) {
  const Array<std::uint8_t, E> out(exec, model.size(), std::uint8_t{2});
  for (const auto& piece : pieces) {
    const auto keep = policy.keep(piece);
    exec.for_each(piece.size, StoreKept<decltype(keep)>{keep, out.span().data() + piece.first});
  }
  exec.fence();
  return out.read();
}

/// Prepares the policy and asks it.
template <Executor E, class PolicyOn, class T>
Flags decided(E& exec, PolicyOn& policy, const Model& model, const std::vector<Piece<T>>& pieces,
              Step step = 0)
  requires requires { policy.revision(step); }
{
  policy.prepare(exec, model, std::span<const Piece<T>>(pieces), step);
  return answers(exec, policy, model, pieces);
}

/// Options, prepared and asked once.
template <class P, Executor E, class T>
Flags decided(E& exec, const P& options, const Model& model, const std::vector<Piece<T>>& pieces,
              Step step = 0)
  requires PruningPolicy<P, E>
{
  typename P::template on<E> policy(options);
  return decided(exec, policy, model, pieces, step);
}

inline std::size_t count(const Flags& flags) {
  return static_cast<std::size_t>(std::count(flags.begin(), flags.end(), std::uint8_t{1}));
}

/// The k largest magnitudes of [first, first + n), ties by lowest index, by a sort.
template <GradientValue T>
void keep_by_sort(const std::vector<T>& values, std::size_t first, std::size_t n, std::size_t k,
                  Flags& flags) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), first);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const auto x = magnitude(values[a]), y = magnitude(values[b]);
    return x > y || (x == y && a < b);
  });
  for (std::size_t i = 0; i < n; ++i) flags[order[i]] = i < k ? 1 : 0;
}

/// The flags of a model whose parts, or which as a whole, keep `kept(n)` of n entries.
template <GradientValue T, class Kept>
Flags by_sort(const Model& model, const std::vector<T>& values, Scope scope, Kept kept) {
  Flags flags(model.size());
  if (scope == Scope::global) {
    keep_by_sort(values, 0, model.size(), kept(model.size()), flags);
  } else {
    for (const Part& part : model.parts()) {
      keep_by_sort(values, part.first, part.size, kept(part.size), flags);
    }
  }
  return flags;
}

/// The message of the error that `f` throws, or "nothing".
template <class Exception, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Exception& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace pactrain::test

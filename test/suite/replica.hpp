// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <suite/values.hpp>
#include <suite/world.hpp>

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/compress/int4.hpp>
#include <pactrain/compress/int8.hpp>
#include <pactrain/compress/ternary.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/random_block.hpp>
#include <pactrain/policy/random_k.hpp>
#include <pactrain/sparse_all_reduce.hpp>

#include <doctest/doctest.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// A reducer with weights and a gradient on one rank, for the suite of `SparseAllReduce`.
namespace pactrain::test::reducer {

/// What is tested together.
template <class P, class M, class Z = Identity, class F = NoFeedback, GradientValue T = float>
struct Combination {
  using policy = P;
  using mask = M;
  using codec = Z;
  using feedback = F;
  using value = T;
  static constexpr bool learns = is_learned<P>;
  static constexpr bool remembers = F::active;
  static constexpr bool drops = P::unkept == Unkept::dropped;
  static constexpr bool shared = P::support == Support::shared;
  /// Its mask is another one in every step.
  static constexpr bool redraws = std::same_as<P, RandomK> || std::same_as<P, RandomBlock>;
  /// Half values are added in float and rounded once, whatever the codec.
  static constexpr bool lossless = std::same_as<Z, Identity>;
  /// Its wire is made of integers and scales.
  static constexpr bool scaled =
      std::same_as<Z, Ternary> || std::same_as<Z, Int8> || std::same_as<Z, Int4>;
};

/// Uneven parts, one of them empty, most of them starting inside a word.
inline std::vector<std::size_t> parts_of(std::size_t n) {
  if (n < 4) return {n};
  return {n / 3, 0, n / 5, n - n / 3 - n / 5};
}
/// Runs that are no parts: a mask's words and the parts' edges lie inside them.
inline std::vector<std::size_t> odd_cuts_of(std::size_t n) {
  std::vector<std::size_t> cuts;
  for (std::size_t size = 1; n > 0; size = 3 * size + 2) {
    cuts.push_back(size < n ? size : n);
    n -= cuts.back();
  }
  return cuts;
}
/// `values` in slices of these sizes, called p0, p1, ... or nothing.
template <class T>
std::vector<Slice<T>> sliced(std::span<T> values, const std::vector<std::size_t>& sizes,
                             bool named) {
  std::vector<Slice<T>> slices;
  std::size_t first = 0;
  for (std::size_t i = 0; i < sizes.size(); first += sizes[i++]) {
    slices.push_back({named ? "p" + std::to_string(i) : "", values.subspan(first, sizes[i])});
  }
  return slices;
}

/// How a policy is made that keeps about `density` of a model.
template <class P>
struct Make;

template <class C, Backend B>
class Replica {
 public:
  using T = typename C::value;
  using executor = typename B::executor_type;
  using reducer_type = SparseAllReduce<typename C::policy, typename C::mask, B, typename C::codec,
                                       typename C::feedback>;

  Replica(B& backend, std::size_t n, double density, ReduceOptions options = {},
          typename C::feedback feedback = {})
      : backend_(backend),
        sizes_(parts_of(n)),
        weights_(backend.executor(), std::span<const float>(values_of<float>(7, n))),
        gradient_(backend.executor(), std::span<const T>(std::vector<T>(n)), 1),
        reduce(backend,
               Make<typename C::policy>::of(Values(sliced(weights_.view(), sizes_, true)), density),
               typename C::codec{}, feedback, options) {}

  [[nodiscard]] int rank() const { return backend_.communicator().rank(); }
  [[nodiscard]] int ranks() const { return backend_.communicator().size(); }
  [[nodiscard]] std::size_t size() const { return gradient_.span().size(); }
  [[nodiscard]] std::span<T> span() const { return gradient_.span(); }
  [[nodiscard]] std::vector<Slice<T>> parts() const { return sliced(span(), sizes_, true); }
  [[nodiscard]] std::vector<Slice<T>> odd_cuts() const {
    return sliced(span(), odd_cuts_of(size()), false);
  }

  /// The gradient of `rank` at `step`.
  [[nodiscard]] static std::vector<T> values(int rank, Step step, std::size_t n) {
    return values_of<T>(rank + 100 * static_cast<int>(step), n);
  }
  [[nodiscard]] std::vector<T> values(Step step) const { return values(rank(), step, size()); }
  void set(const std::vector<T>& values) {
    backend_.executor().write(std::span<const T>(values), gradient_.span());
  }
  [[nodiscard]] std::vector<T> get() const { return gradient_.read(); }

  /// Reduces this rank's gradient of `step`, by parts.
  std::vector<T> clean_step(Step step) {
    set(values(step));
    reduce(parts());
    return get();
  }
  /// Which entries the mask keeps.
  [[nodiscard]] std::vector<bool> kept() {
    Array<float, executor> ones(backend_.executor(), size(), 1.0f);
    reduce.mask().apply(ones.span());
    const auto read = ones.read();
    return std::vector<bool>(read.begin(), read.end());
  }

 private:
  B& backend_;
  std::vector<std::size_t> sizes_;
  Array<float, executor> weights_;
  Array<T, executor> gradient_;

 public:
  reducer_type reduce;
};

/// Is this number the same on all ranks? Collective.
template <Backend B>
bool same_on_all(B& backend, std::uint64_t mine) {
  const auto all = gather_host_values(backend.executor(), backend.communicator(),
                                      std::span<const std::uint64_t>(&mine, 1));
  return odd_one_out(all).rank < 0;
}
inline std::uint64_t hash(const std::string& text) { return std::hash<std::string>{}(text); }
template <class T>
std::uint64_t hash(const std::vector<T>& values) {
  return hash(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

/// The text of the `Exception` that `f` must throw on every rank, with the same text. Collective.
template <class Exception, Backend B, class F>
std::string refusal(B& backend, F f) {
  std::string text = "nothing was thrown";
  try {
    f();
  } catch (const Exception& error) {
    text = error.what();
  } catch (const std::exception& error) {
    text = std::string("another error: ") + error.what();
  }
  CHECK_MESSAGE(text.starts_with("pactrain: "), text);
  CHECK(same_on_all(backend, hash(text)));
  return text;
}
inline bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace pactrain::test::reducer

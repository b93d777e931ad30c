// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/policy/kept_bits.hpp>
#include <pactrain/policy/policy.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pactrain {

/// The user's own mask, by position in the whole model, and fixed: for another mask, make another
/// reducer. With `weights` (or any slices of the model) the reducer takes the layout from them.
///
/// All ranks must pass the same mask. A model of another size than the mask is a
/// `PreconditionError` when it is first used.
struct Pruned {
  Values weights;  ///< optional; only their names and sizes are used

  static constexpr Support support = Support::shared;
  static constexpr Unkept unkept = Unkept::dropped;

  /// From one flag per entry, true where it is kept: a vector of bool, bytes, integers.
  template <std::ranges::input_range R>
    requires std::convertible_to<std::ranges::range_reference_t<R>, bool>
  [[nodiscard]] static Pruned from_flags(R&& flags, Values weights = {}) {
    Pruned pruned(std::move(weights));
    for (auto&& flag : flags) pruned.add(static_cast<bool>(flag));
    return pruned;
  }
  /// From the ascending indices that are kept of `n`. Throws `PreconditionError` where they do not
  /// ascend, where one comes twice, or where one is not below `n`.
  template <std::ranges::input_range R>
    requires std::integral<std::ranges::range_value_t<R>>
  [[nodiscard]] static Pruned from_indices(std::size_t n, R&& indices, Values weights = {}) {
    Pruned pruned(std::move(weights));
    pruned.size_ = n;
    pruned.words_.resize(kernel::words_for(n));
    std::size_t next = 0;
    for (const auto index : indices) {
      const auto at = static_cast<std::size_t>(index);
      expects(at < n, [&] {
        return "index " + std::to_string(index) + " is not one of " + std::to_string(n) +
               " entries; kept indices lie in [0, " + std::to_string(n) + ")";
      });
      expects(at >= next, [&] {
        return "index " + std::to_string(index) + " comes " +
               (at + 1 == next ? "twice" : "after " + std::to_string(next - 1)) +
               " (kept indices ascend); sort them and drop duplicates";
      });
      pruned.words_[at / kernel::word_bits] |= kernel::Word{1} << at % kernel::word_bits;
      next = at + 1;
    }
    return pruned;
  }

  /// The number of entries, kept or not.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t fingerprint() const {
    Fingerprint options;
    options(size_);
    for (const kernel::Word word : words_) options(word);
    return options.value();
  }

  template <Executor E>
  class on;

 private:
  explicit Pruned(Values layout) : weights(std::move(layout)) {}

  void add(bool kept) {
    if (size_ % kernel::word_bits == 0) words_.push_back(0);
    words_.back() |= static_cast<kernel::Word>(kept) << size_ % kernel::word_bits;
    ++size_;
  }

  std::vector<kernel::Word> words_;
  std::size_t size_ = 0;
};

template <Executor E>
class Pruned::on {
 public:
  explicit on(const Pruned& options) : options_(options) {}

  [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
  template <class T>
  void prepare(E& exec, const Model& model, std::span<const Piece<T>>, Step) {
    expects(model.size() == options_.size_, [&] {
      return "the mask has " + std::to_string(options_.size_) + " entries but the gradient has " +
             std::to_string(model.size()) +
             " (Pruned keeps by position); pass a mask of the same layers";
    });
    kept_.write(exec, options_.size_, options_.words_);
  }
  template <class T>
  [[nodiscard]] auto keep(const Piece<T>& piece) const {
    return kept_.from(piece.first);
  }

 private:
  Pruned options_;
  KeptBits<E> kept_;
};

}  // namespace pactrain

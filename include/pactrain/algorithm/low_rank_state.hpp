// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/low_rank_layout.hpp>
#include <pactrain/algorithm/state_values.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/pack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pactrain {

/// The right factors of a model's matrices, from which the next step goes on: column after column,
/// zeros where there was no step yet.
template <Executor E>
class LowRankState {
 public:
  explicit LowRankState(const auto& options) : most_(options.rank), min_rate_(options.min_rate) {}

  /// Room for the factors of `model`, in the type of sums; zeros where there was other room.
  template <GradientValue A>
  void bind(E& exec, const Model& model) {
    ranks_.clear();
    firsts_.clear();
    std::size_t size = 0;
    for (const Part& part : model.parts()) {
      ranks_.push_back(factor_rank(part, most_, min_rate_));
      firsts_.push_back(size);
      if (ranks_.back() > 0) size += ranks_.back() * (part.size / part.rows);
    }
    firsts_.push_back(size);
    if (size == size_ && value_type<A> == type_) return;
    size_ = size;
    type_ = value_type<A>;
    const auto zeros = factors_.template take<A>(exec, size);
    exec.for_each(size, kernel::Fill<A>{zeros.data(), A{}});
  }
  /// Columns of the factors of part `part`, 0 if it travels as it is. Precondition: `bind`.
  [[nodiscard]] std::size_t rank(std::size_t part) const { return ranks_[part]; }
  /// How many matrices of the model are approximated. Precondition: as above.
  [[nodiscard]] std::size_t matrices() const {
    return ranks_.size() - static_cast<std::size_t>(std::ranges::count(ranks_, std::size_t{0}));
  }
  /// The right factor of part `part`, in executor memory; it may be written, on all ranks alike.
  /// Precondition: as above; A is the type of sums.
  template <class A>
  [[nodiscard]] std::span<A> factor(std::size_t part) const {
    return {factors_.template view<A>(0).data() + firsts_[part], firsts_[part + 1] - firsts_[part]};
  }
  /// A step was accepted in which part `part` got this factor.
  template <class A>
  void commit(E& exec, std::size_t part, std::span<const A> factor) {
    exec.copy(factor, this->template factor<A>(part));
    stands_ = true;
  }

  void save(E& exec, Writer& writer) const {
    writer.value(stands_ ? 1 + static_cast<std::uint64_t>(type_) : 0);
    if (!stands_) return;
    with_gradient_type(type_, [&]<class A>() { save_values<A>(exec, writer, factors_, size_); });
  }
  /// Throws `StateError`.
  void load(E& exec, const Model& model, Reader& reader) {
    const std::uint64_t type = reader.value();
    if (type > 2) throw StateError("pactrain: the state is damaged (its factors' type is unknown)");
    stands_ = type != 0;
    if (!stands_) return;
    with_gradient_type(static_cast<ValueType>(type - 1), [&]<class A>() {
      bind<A>(exec, model);
      load_values<A>(exec, reader, factors_, size_, "the right factors");
    });
  }

 private:
  std::size_t most_;
  double min_rate_;
  std::vector<std::size_t> ranks_, firsts_;  ///< by part
  std::size_t size_ = 0;
  ValueType type_ = ValueType::float32;
  bool stands_ = false;  ///< was a step accepted?
  Scratch<E> factors_;
};

}  // namespace pactrain

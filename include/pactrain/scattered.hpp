// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/scattered_exchange.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/feedback/feedback.hpp>
#include <pactrain/kernel/bits.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pactrain {

/// What is remembered of the sums that a rank coded: nothing, where `F` remembers nothing.
template <class F, Executor E>
class SumMemory {
 public:
  explicit SumMemory(const auto& codec) : options_(codec.memory), feedback_(options_) {}

  /// Is this a memory of `size` sums of type A?
  template <GradientValue A>
  [[nodiscard]] bool holds(std::size_t size) const {
    return size == size_ && value_type<A> == type_;
  }
  /// out = sums + what is remembered of sums first, first + 1, ...
  template <GradientValue A>
  void compensate(E& exec, std::size_t first, std::span<const A> sums, std::span<A> out) {
    feedback_.compensate(exec, Piece<const A>{0, first, first, sums.size(), sums.data()},
                         out.data());
  }
  /// `fresh`: what was remembered is of other sums, and goes.
  template <GradientValue A>
  void commit(E& exec, std::span<const A> missed, bool fresh, Step step) {
    if (fresh) bind<A>(exec, missed.size());
    feedback_.commit(exec, Piece<const A>{0, 0, 0, missed.size(), missed.data()}, step);
  }
  void forget() noexcept { size_ = 0; }
  void save(E& exec, Writer& writer) {
    if constexpr (F::active) {
      writer.value(size_);
      writer.value(type_);
      if (size_ != 0) feedback_.save(exec, writer);
    }
  }
  /// Throws `StateError`.
  void load(E& exec, const Model& model, Reader& reader) {
    if constexpr (F::active) {
      const std::uint64_t size = reader.value(), type = reader.value();
      if (size > model.size() || type > 1) {
        throw StateError("pactrain: the state is damaged (its memory of sums has another size)");
      }
      if (size == 0) return;
      with_gradient_type(static_cast<ValueType>(type), [&]<class A>() { bind<A>(exec, size); });
      feedback_.load(exec, reader);
    }
  }

 private:
  template <GradientValue A>
  void bind(E& exec, std::size_t size) {
    size_ = size;
    type_ = value_type<A>;
    Model sums;
    sums.add("sums", size);
    feedback_.template resize<A>(exec, sums);
  }

  F options_;
  feedback_on<F, E> feedback_;
  std::size_t size_ = 0;
  ValueType type_ = ValueType::float32;
};

/// A codec whose wires are summed by their owners: see `Scattered` and `Sharded`.
template <bool to_all, class Z, class Memory>
struct SummedByOwners {
  static_assert(!Z::additive,
                "pactrain: wires of this codec may be added as they are, by the all-reduce; use it "
                "without Scattered or Sharded");
  static constexpr bool additive = false;
  static constexpr bool gathers = to_all;
  static constexpr bool remembers = Memory::active;
  static constexpr bool whole = remembers;  // the memory is of the whole model's sums
  Z codec = {};
  Memory memory = {};  ///< of what is lost where sums are coded again
  int node = 0;        ///< ranks of a node, which follow each other; 0: one hop over all ranks

  [[nodiscard]] std::uint64_t fingerprint() const {
    return kernel::mix(kernel::mix(codec.fingerprint(), memory.fingerprint()),
                       static_cast<std::uint64_t>(node));
  }
  template <Executor E>
  using state = SumMemory<Memory, E>;
  template <GradientValue T, GradientValue S, Executor E, class C>
  using exchange = ScatteredExchange<T, S, E, C, SummedByOwners>;

  template <Executor E>
  class on : public Z::template on<E> {
    static_assert(!has_bounds<Z, E> && !has_sizes<Z, E>,
                  "pactrain: Scattered and Sharded want a codec with scales of its own, and wires "
                  "whose size all ranks know, like Int8");

   public:
    on(const SummedByOwners& options, state<E>&) : Z::template on<E>(options.codec) {
      expects(options.node >= 0, [&] {
        return "node is " + std::to_string(options.node) +
               " (the number of ranks in a node); choose a positive one, or 0 for one hop";
      });
    }
  };
};

/// Wires of `Z` go to the owners of shares, which sum in full precision, code the mean once more,
/// and send it to all: bytes do not grow with the number of ranks as those of a gather do.
/// CGX's scatter-reduce-all-gather (arXiv 2111.08617), LoCo as all-reduce (arXiv 2407.04480).
///
/// Rank r owns `share_of(n, r, ranks)` of each parameter's n packed values. A rank sends
/// (P - 1)/P of its wire and P - 1 times its share's. Values are coded twice, so the result is off
/// by twice the codec's error, of which the first half is the feedback's to remember and the second
/// `Memory`'s, which begins anew where a policy's mask moves: it is kept by place in the share.
/// With `node` = L, sums are made within nodes of L consecutive ranks, coded, and summed over
/// nodes, so that of n values only n/L leave a rank's node (LoCo in ZeRO++): three codings. Throws
/// `PreconditionError` where L does not divide the number of ranks.
template <class Z, class Memory = NoFeedback>
using Scattered = SummedByOwners<true, Z, Memory>;

/// The same, but every rank keeps its own shares of the mean, uncoded, and the rest of its gradient
/// becomes zero: a coded reduce-scatter, for optimisers that are sharded over ranks (ZeRO, FSDP).
/// Ranks tell each other at the end what they found in their shares: 8 bytes to each.
/// A step that is not finite, and is to propagate, gives every rank the whole mean.
/// A model passed as one nameless slice is cut into shares as those do, at `share_of(n, r, ranks)`.
template <class Z, class Memory = NoFeedback>
using Sharded = SummedByOwners<false, Z, Memory>;

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/pack.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/options.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/mask/full_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/mask/mask.hpp>
#include <pactrain/policy/keep_all.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/sparse_all_reduce.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace pactrain {

namespace kernel {
/// The value in slot `slot` is added at `position`.
template <class A>
struct ScatterAdd {
  const A* packed;
  A* sum;
  PACTRAIN_FN void operator()(std::size_t slot, std::size_t position) const {
    sum[position] += packed[slot];
  }
};
}  // namespace kernel

/// What a local policy keeps from step to step, where it chooses as part of a codec.
template <class P, Executor E>
class GatheredState {
 public:
  explicit GatheredState(const auto& codec) : policy_(codec.policy) {}

  [[nodiscard]] typename P::template on<E>& policy() noexcept { return policy_; }
  template <class S>
  void prepare(E& exec, const Model& model, std::span<const Piece<const S>> values, Step step) {
    policy_.prepare(exec, model, values, step);
    prepared_ = true;
  }
  /// The policy's decision counts if the step was accepted, if it made one in it.
  void close(bool accepted) {
    if constexpr (requires { policy_.retract(); }) {
      if (prepared_ && !accepted) policy_.retract();
    }
    prepared_ = false;
  }
  void save(E& exec, Writer& writer) const {
    if constexpr (requires { policy_.save(exec, writer); }) policy_.save(exec, writer);
  }
  void load(E& exec, const Model& model, Reader& reader) {
    if constexpr (requires { policy_.load(exec, model, reader); }) {
      policy_.load(exec, model, reader);
    }
  }

 private:
  typename P::template on<E> policy_;
  bool prepared_ = false;
};

/// Of the values that are packed, each rank sends those that its own policy `P` chooses, with their
/// positions: the sparse all-gather of top-k training (Lin et al., arXiv 1712.01887; Renggli et
/// al., arXiv 1802.08021). Positions travel as `Mask` stores them, values as `Values` codes them.
///
/// A rank receives the wires of all others, so traffic grows with their number: `United<P>` and a
/// mask that all share do not. What is not chosen is not conveyed, and goes to the residual where
/// there is one. As a policy, `SparseAllReduce<Gathered<TopK>, IndexMask, B>` chooses among all
/// entries; as a codec behind a pruning policy it chooses among the survivors.
///
/// Wire: the bytes of the positions (8), the positions, the coded values. Ranks tell each other the
/// sizes first: 8 bytes each. Throws what the policy throws, and `BackendError` where positions
/// that were received cannot be.
template <class P, class Mask = IndexMask, class Values = Identity>
struct Gathered {
  static_assert(P::support == Support::local,
                "pactrain: Gathered wants a policy by which ranks choose for themselves, like "
                "TopK; what all ranks keep alike needs no positions");
  static constexpr bool additive = false;
  static constexpr bool whole = true;  // policies rank all that they are given together
  P policy = {};
  Values values = {};

  [[nodiscard]] std::uint64_t fingerprint() const {
    return kernel::mix(policy.fingerprint(), values.fingerprint());
  }
  template <class T>
  [[nodiscard]] auto for_values_of() const {
    using Sent = decltype(as_sent<T>(values));
    return Gathered<P, Mask, Sent>{policy, as_sent<T>(values)};
  }
  template <Executor E>
  using state = GatheredState<P, E>;
  template <Executor E>
  class on;
};

template <class P, class Mask, class Values>
template <Executor E>
class Gathered<P, Mask, Values>::on {
  static_assert(TravellingMask<Mask, E>,
                "pactrain: the positions of this mask cannot travel with values; use IndexMask, "
                "BitMask or BlockMask");
  static_assert(
      !has_bounds<Values, E>,
      "pactrain: Gathered cannot carry a codec whose scales all ranks agree on, for every "
      "rank sends other entries; use Identity, Cast, or a codec with scales of its own");

 public:
  on(const Gathered& options, state<E>& state) : state_(&state), values_(options.values) {}

  /// Chooses among `values` and returns the bytes of the wire. May wait.
  template <GradientValue S>
  [[nodiscard]] std::size_t wire_bytes(E& exec, const CodecCall& call, std::span<const S> values) {
    lay_out(call);
    std::vector<Piece<const S>> pieces;
    cut(model_, 0, model_.size(), values.data(), pieces);
    state_->prepare(exec, model_, std::span<const Piece<const S>>(pieces), call.random.step);
    const auto& policy = state_->policy();
    mask_.begin(exec, model_);
    for (const auto& piece : pieces) mask_.assign(exec, piece, policy.keep(piece));
    mask_.end(exec);
    const CodecCall chosen = values_call(exec, call, mask_);
    counts_.clear();
    for (const PackedPart& part : chosen.parts) counts_.push_back(part.size);
    return header + padded(mask_.positions().size()) + coded_bytes<S>(chosen);
  }
  template <GradientValue S>
  void encode(E& exec, const CodecCall& call, std::span<const S> values,
              std::span<std::byte> wire) {
    const auto positions = mask_.positions();
    const std::uint64_t size = positions.size();
    exec.write(std::as_bytes(std::span(&size, 1)), wire.first(header));
    exec.copy(positions, wire.subspan(header, size));
    const CodecCall chosen = values_call(exec, call, mask_);
    const auto packed = packed_.template take<S>(exec, mask_.count());
    for (const PackedPart& part : chosen.parts) {
      const Part& place = model_.parts()[part.part];
      const Piece<const S> piece{part.part, 0, place.first, place.size,
                                 values.data() + place.first};
      pack(exec, mask_, piece, packed.data() + part.first, part.first,
           static_cast<std::uint32_t*>(nullptr), scratch_);
    }
    values_.encode(exec, chosen, as_const_span(packed), wire.subspan(header + padded(size)));
  }
  template <GradientValue A>
  void decode_add(E& exec, const CodecCall& call, std::span<const std::byte> wire,
                  std::span<A> sum) {
    std::uint64_t size = 0;
    expects_positions(wire.size() >= header);
    exec.read(wire.first(header), std::as_writable_bytes(std::span(&size, 1)));
    expects_positions(size <= wire.size() - header && padded(size) <= wire.size() - header);
    received_.receive(exec, model_, wire.subspan(header, size));
    const CodecCall chosen = values_call(exec, call, received_);
    const auto coded = wire.subspan(header + padded(size));
    expects_positions(coded.size() == coded_bytes<A>(chosen));
    const auto packed = packed_.template take<A>(exec, received_.count());
    exec.for_each(packed.size(), kernel::Fill<A>{packed.data(), A{}});
    values_.decode_add(exec, chosen, coded, packed);
    received_.visit(exec, 0, model_.size(), kernel::ScatterAdd<A>{packed.data(), sum.data()});
  }
  /// Which values were chosen, by their places, and how many of a part.
  [[nodiscard]] auto chosen() const { return mask_.keep(); }
  [[nodiscard]] std::size_t chosen_in(std::size_t part) const { return counts_[part]; }
  /// What the policy says of its estimate.
  [[nodiscard]] std::optional<double> quality() const {
    if constexpr (requires { state_->policy().quality(); }) return state_->policy().quality();
    else return {};
  }
  /// How many values were chosen.
  [[nodiscard]] std::size_t kept() const noexcept { return mask_.count(); }

 private:
  static constexpr std::size_t header = sizeof(std::uint64_t);
  static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

  /// The packed vector as a model: its parts are those of the call, by their names.
  void lay_out(const CodecCall& call) {
    if (std::ranges::equal(parts_, call.parts)) return;
    parts_.assign(call.parts.begin(), call.parts.end());
    model_ = Model{};
    for (const PackedPart& part : parts_) {
      model_.add(call.model == nullptr ? "" : call.model->parts()[part.part].name, part.size);
    }
  }
  /// The call of the values that `mask` keeps. Waits.
  template <class M>
  CodecCall values_call(E& exec, const CodecCall& call, const M& mask) {
    chosen_.clear();
    std::size_t first = 0;
    for (std::size_t i = 0; i < model_.parts().size(); ++i) {
      const Part& part = model_.parts()[i];
      const std::size_t end = mask.slot(exec, part.first + part.size);
      chosen_.push_back({i, first, end - first});
      first = end;
    }
    CodecCall chosen = call;
    chosen.parts = chosen_;
    return chosen;
  }
  template <GradientValue S>
  [[nodiscard]] std::size_t coded_bytes(const CodecCall& call) const {
    if constexpr (Values::additive) {
      std::size_t n = 0;
      for (const PackedPart& part : call.parts) n += part.size;
      return n * size_of(values_.template wire_type<S>(1));
    } else {
      return values_.template wire_bytes<S>(call);
    }
  }

  state<E>* state_;
  typename Values::template on<E> values_;
  std::vector<PackedPart> parts_, chosen_;
  std::vector<std::size_t> counts_;
  Model model_;
  typename Mask::template on<E> mask_, received_;
  Scratch<E> packed_, scratch_;
};

/// A local policy whose choices travel with their positions, named as a policy: it chooses among
/// all entries, `Mask` says how positions travel, and `Codec` how values do. The same as
/// `SparseAllReduce<KeepAll, FullMask, B, Gathered<P, Mask, Codec>, Feedback>`, so that `mask()`
/// keeps everything, and what was not chosen is zero in the result if no rank chose it.
template <class P, class Mask, class B, class Codec, class Feedback>
class SparseAllReduce<Gathered<P>, Mask, B, Codec, Feedback>
    : public SparseAllReduce<KeepAll, FullMask, B, Gathered<P, Mask, Codec>, Feedback> {
 public:
  explicit SparseAllReduce(B& backend, P policy = {}, Codec codec = {}, Feedback feedback = {},
                           ReduceOptions options = {})
      : SparseAllReduce<KeepAll, FullMask, B, Gathered<P, Mask, Codec>, Feedback>(
            backend, {}, {std::move(policy), std::move(codec)}, std::move(feedback), options) {}
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/local_choice.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/mask/mask.hpp>
#include <pactrain/over_all.hpp>
#include <pactrain/policy/policy.hpp>

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
  using state = ChoiceState<P, E>;
  template <Executor E>
  class on {
    static_assert(TravellingMask<Mask, E>,
                  "pactrain: the positions of this mask cannot travel with values; use IndexMask, "
                  "BitMask or BlockMask");
    static_assert(
        !has_bounds<Values, E>,
        "pactrain: Gathered cannot carry a codec whose scales all ranks agree on, for every "
        "rank sends other entries; use Identity, Cast, or a codec with scales of its own");

   public:
    on(const Gathered& options, state<E>& state) : state_(&state), values_(options.values) {}

    /// Chooses among the values `from` and returns the bytes of the wire. May wait.
    template <GradientValue S>
    [[nodiscard]] std::size_t wire_bytes(E& exec, const CodecCall& call, std::span<const S> from) {
      choice_.choose(exec, call, from, *state_);
      const auto& mask = choice_.mask();
      return header + padded(mask.positions().size()) +
             coded_bytes<S>(values_call(exec, call, mask));
    }
    /// Positions in no more than sixteen bytes each, and all values.
    template <GradientValue S>
    [[nodiscard]] std::size_t most_wire_bytes(const CodecCall& call, std::size_t n) const {
      return header + 16 * n + 64 + coded_bytes<S>(call);
    }
    template <GradientValue S>
    void encode(E& exec, const CodecCall& call, std::span<const S> from,
                std::span<std::byte> wire) {
      const auto& mask = choice_.mask();
      const auto positions = mask.positions();
      const std::uint64_t size = positions.size();
      exec.write(std::as_bytes(std::span(&size, 1)), wire.first(header));
      exec.copy(positions, wire.subspan(header, size));
      const CodecCall chosen = values_call(exec, call, mask);
      const auto packed = packed_.template take<S>(exec, mask.count());
      for (const PackedPart& part : chosen.parts) {
        const Part& place = choice_.model().parts()[part.part];
        const Piece<const S> piece{part.part, 0, place.first, place.size,
                                   from.data() + place.first};
        pack(exec, mask, piece, packed.data() + part.first, part.first,
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
      received_.receive(exec, choice_.model(), wire.subspan(header, size));
      const CodecCall chosen = values_call(exec, call, received_);
      const auto coded = wire.subspan(header + padded(size));
      expects_positions(coded.size() == coded_bytes<A>(chosen));
      const auto packed = packed_.template take<A>(exec, received_.count());
      exec.for_each(packed.size(), kernel::Fill<A>{packed.data(), A{}});
      values_.decode_add(exec, chosen, coded, packed);
      received_.visit(exec, 0, choice_.model().size(),
                      kernel::ScatterAdd<A>{packed.data(), sum.data()});
    }
    /// Which values were chosen, by their places, and how many of a part.
    [[nodiscard]] auto chosen() const { return choice_.mask().keep(); }
    [[nodiscard]] std::size_t chosen_in(std::size_t part) const { return choice_.count_in(part); }
    /// What the policy says of its estimate.
    [[nodiscard]] std::optional<double> quality() const { return state_->quality(); }
    /// How many values were chosen.
    [[nodiscard]] std::size_t kept() const noexcept { return choice_.mask().count(); }

   private:
    static constexpr std::size_t header = sizeof(std::uint64_t);
    static constexpr std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

    /// The call of the values that `mask` keeps. Waits.
    template <class M>
    CodecCall values_call(E& exec, const CodecCall& call, const M& mask) {
      chosen_.clear();
      std::size_t first = 0;
      for (std::size_t i = 0; i < choice_.model().parts().size(); ++i) {
        const Part& part = choice_.model().parts()[i];
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
    std::vector<PackedPart> chosen_;
    LocalChoice<Mask, E> choice_;
    typename Mask::template on<E> received_;
    Scratch<E> packed_, scratch_;
  };
};

template <class P>
struct OverAll<Gathered<P>> {
  using choice = P;
  template <class Mask, class Codec>
  static Gathered<P, Mask, Codec> codec(P policy, Codec values) {
    return {std::move(policy), std::move(values)};
  }
};

}  // namespace pactrain

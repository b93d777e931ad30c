// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/mask_keeper.hpp>
#include <pactrain/algorithm/progress.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/feedback/feedback.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace pactrain {

/// All that a reducer keeps from call to call, as it is saved and loaded.
template <class Policy, class Mask, class B, class Codec, class Feedback>
struct ReducerState {
  using E = typename B::executor_type;
  using CodecState = codec_state<Codec, E>;
  static constexpr bool keeps_codec_state =
      requires(CodecState& state, E& exec, Writer& to) { state.save(exec, to); };

  MaskKeeper<Policy, Mask, B> keeper;
  CodecState codec;
  feedback_on<Feedback, E> feedback;
  StepProgress progress{};
  std::optional<ValueType> type{};  ///< of gradients, once there was one
  std::size_t bound = 0;            ///< the entries that the feedback remembers

  ReducerState(const Policy& policy, const Codec& codec_options, const Feedback& options, int ranks)
      : keeper(policy), codec(codec_options), feedback(feedback_for<E>(options, ranks)) {}

  void save(E& exec, Writer& writer) {
    writer.value(progress.step());
    writer.value(type ? 1 + static_cast<int>(*type) : 0);
    keeper.save(exec, writer);
    if constexpr (keeps_codec_state) {
      writer.block([&](Writer& to) { codec.save(exec, to); });
    }
    const std::size_t remembered = type ? bound : 0;
    writer.value(remembered);
    if constexpr (Feedback::active) {
      if (remembered != 0) feedback.save(exec, writer);
    }
  }
  /// Reads into this state, which is to be dropped if this throws. What a codec keeps is passed
  /// over where it `begins_anew`.
  void load(E& exec, Reader& reader, const Model& expected, bool begins_anew) {
    progress = StepProgress(reader.value());
    const std::uint64_t number = reader.value();
    if (number > 4) throw StateError("pactrain: the state is damaged (its value type is unknown)");
    if (number != 0) type = static_cast<ValueType>(number - 1);
    keeper.load(exec, reader, expected);
    if constexpr (keeps_codec_state) {
      if (begins_anew) reader.skip_block();
      else reader.block([&] { codec.load(exec, keeper.model(), reader); });
    }
    const std::uint64_t remembered = reader.value();
    if (remembered != 0 && (remembered != keeper.model().size() || !type)) {
      throw StateError("pactrain: the state is damaged (its residual has another size)");
    }
    bound = static_cast<std::size_t>(remembered);
    if constexpr (Feedback::active) {
      if (bound == 0) return;
      with_gradient_type(*type, [&]<class T>() {
        feedback.template resize<arithmetic_t<T>>(exec, keeper.model());
      });
      feedback.load(exec, reader);
    }
  }

  /// What is remembered here becomes `factor` times the sum of what is here and in `others`. Throws
  /// `StateError` where it is stored as integers.
  void pool(E& exec, std::span<ReducerState> others, double factor)
    requires(Feedback::active)
  {
    std::vector<std::vector<double>> sums;
    add_to(exec, sums);
    for (ReducerState& other : others) other.add_to(exec, sums);
    std::size_t vector = 0;
    feedback.residual(exec, [&]<class R>(std::span<R> residual) {
      std::vector<R> values(residual.size());
      if constexpr (!std::integral<R>) {
        const std::vector<double>& sum = sums[vector++];
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<R>(static_cast<arithmetic_t<R>>(factor * sum[i]));
        }
      }
      exec.write(std::span<const R>(values), residual);
    });
  }

 private:
  void add_to(E& exec, std::vector<std::vector<double>>& sums) {
    std::size_t vector = 0;
    feedback.residual(exec, [&]<class R>(std::span<R> residual) {
      if constexpr (std::integral<R>) {
        throw StateError(
            "pactrain: residuals that are stored as bytes cannot be shared by another number of "
            "ranks (each block has a scale of its own); load with Residuals::dropped");
      } else {
        std::vector<R> values(residual.size());
        exec.read(as_const_span(residual), std::span<R>(values));
        if (sums.size() == vector) sums.emplace_back(values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
          sums[vector][i] += static_cast<double>(static_cast<arithmetic_t<R>>(values[i]));
        }
        ++vector;
      }
    });
  }
};

}  // namespace pactrain

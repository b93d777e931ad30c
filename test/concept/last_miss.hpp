// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/feedback/feedback.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

/// The complete minimal feedback of docs/concepts/feedback.md.
namespace example {

using namespace pactrain;

/// out[i] = gradient[i] + residual[i].
template <class T, class A>
struct Compensate {
  const T* gradient;
  const float* residual;
  A* out;
  PACTRAIN_FN void operator()(std::size_t i) const {
    out[i] = kernel::cast<A>(gradient[i]) + kernel::cast<A>(residual[i]);
  }
};
/// residual[i] = missed[i]; it stays where that is not finite.
template <class A>
struct Keep {
  const A* missed;
  float* residual;
  PACTRAIN_FN void operator()(std::size_t i) const {
    const auto now = static_cast<float>(missed[i]);
    if (is_finite(now)) residual[i] = now;
  }
};

/// What a step misses is added to the next one: error feedback with floats, and no options.
struct LastMiss {
  static constexpr bool active = true;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0x6c617374; }

  template <Executor E>
  class on {
   public:
    explicit on(const LastMiss&) {}

    template <GradientValue A>
    void resize(E& exec, const Model& model) {
      residual_ = memory_.template take<float>(exec, model.size());
      exec.for_each(model.size(), kernel::Fill<float>{residual_.data(), 0.0f});
    }
    template <class T, class A>
    void compensate(E& exec, Piece<T> piece, A* out) {
      exec.for_each(piece.size, Compensate<std::remove_const_t<T>, A>{
                                    piece.data, residual_.data() + piece.first, out});
    }
    template <class A>
    void commit(E& exec, Piece<const A> missed, Step) {
      exec.for_each(missed.size, Keep<A>{missed.data, residual_.data() + missed.first});
    }
    template <class F>
    void residual(E&, F f) {
      f(residual_);
    }
    void save(E& exec, Writer& writer) {
      std::vector<float> host(residual_.size());
      exec.read(std::span<const float>(residual_), std::span<float>(host));
      writer.array(std::span<const float>(host));
    }
    void load(E& exec, Reader& reader) {
      const auto host = reader.array<float>(residual_.size(), "the residual");
      exec.write(std::span<const float>(host), residual_);
    }

   private:
    Scratch<E> memory_;
    std::span<float> residual_;
  };
};

}  // namespace example

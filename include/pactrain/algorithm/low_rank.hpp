// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/low_rank_layout.hpp>
#include <pactrain/algorithm/method.hpp>
#include <pactrain/algorithm/multiply.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/algorithm/state_values.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/random.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/kernel/cast.hpp>
#include <pactrain/kernel/flags.hpp>
#include <pactrain/kernel/low_rank.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace pactrain {

/// What a rank remembers of a matrix that was approximated.
enum class LowRankError {
  aggregated,  ///< what it had less what all ranks together conveyed: the paper's algorithm 2
  local,       ///< what it had less its own share in that: as the authors' later code
  none         ///< nothing: what is not conveyed is lost
};

/// PowerSGD: a matrix M of n rows and m columns travels as two factors of `rank` columns, found by
/// one step of a power iteration that begins where the last one ended. With M = gradient + error:
/// P = mean(M Q), made orthonormal; Q = mean(M^T P); the result is P Q^T. Vogels, Karimireddy,
/// Jaggi: "PowerSGD", NeurIPS 2019, arXiv 1905.13727, algorithms 1 and 2. Biased: without error
/// feedback it does not converge.
struct LowRank {
  std::size_t rank = 2;    ///< columns of a factor, at most as many as the matrix has rows, columns
  double min_rate = 2.0;   ///< a matrix is approximated where (n + m) rank min_rate < n m
  Step start = 0;          ///< before this step all values travel as they are
  bool warm_start = true;  ///< false: the right factor is drawn anew in every step
  LowRankError error = LowRankError::aggregated;
  /// The type in which sums are made where the left factor becomes orthonormal: float64, float32.
  ValueType orthonormalise_in = ValueType::float64;
  /// A column of which less than this share is left when those before it are taken off is rounding
  /// and becomes zeros.
  double floor = 1e-6;
  std::uint64_t seed = 0;  ///< of the first right factor; the same on all ranks

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}(rank)(min_rate)(start)(warm_start)(error)(orthonormalise_in)(floor)(seed)
        .value();
  }

  template <Executor E>
  class on;
};

template <Executor E>
class LowRank::on {
 public:
  explicit on(const LowRank& options) : options_(options) {
    expects(options.rank > 0, "the rank is 0 (factors need a column); choose 1 to 4, or more");
    expects(std::isfinite(options.min_rate) && options.min_rate > 0, [&] {
      return "min_rate is " + std::to_string(options.min_rate) +
             " (by how much a matrix must shrink to be approximated); choose 1 or more";
    });
    expects(options.floor >= 0 && options.floor < 1, [&] {
      return "floor is " + std::to_string(options.floor) +
             " (the share of a column below which it is rounding); choose one in [0, 1)";
    });
    expects(options.orthonormalise_in <= ValueType::float64,
            "factors can be made orthonormal in float32 or float64 (half types have too few "
            "digits); choose one of them");
  }

  /// Tells vectors from matrices.
  template <class A>
  void bind(E&, const Model& model) {
    type_ = value_type<A>;
    layout_ = {model, options_.rank, options_.min_rate};
    stands_ = table_written_ = false;
  }
  [[nodiscard]] bool dense(Step step) const { return step < options_.start; }

  template <class C, class T>
  void exchange(const MethodCall<E, C, T>& call) {
    using A = arithmetic_t<T>;
    const std::size_t flag = layout_.plain + layout_.lefts;
    const auto first = first_.template take<A>(call.exec, flag + 1);
    {
      const StageTimer timer(call.exec, "pack", call.report.seconds.pack);
      gather(call, first);
    }
    {
      const StageTimer timer(call.exec, "encode", call.report.seconds.encode);
      prepare<A>(call.exec, call.step);
      const auto right = right_.template view<A>(layout_.rights);
      for (const Shape& shape : layout_.matrices) {
        times(call.exec, matrix<A>(shape), right.data() + shape.right, shape.rank,
              first.data() + layout_.plain + shape.left);
      }
      call.exec.for_each(1, kernel::WriteFlags<A>{call.flags.data(), first.data() + flag});
    }
    sum(call, first);
    call.exec.for_each(1, kernel::ReadFlags<A>{first.data() + flag, call.flags.data()});
    if (layout_.matrices.empty()) return;
    const auto next = next_.template take<A>(call.exec, layout_.rights);
    {
      const StageTimer timer(call.exec, "encode", call.report.seconds.encode);
      orthonormalise(call.exec, first.data() + layout_.plain);
      for (const Shape& shape : layout_.matrices) {
        transposed_times(call.exec, matrix<A>(shape), first.data() + layout_.plain + shape.left,
                         shape.rank, next.data() + shape.right, scratch_);
      }
      if (options_.error == LowRankError::local) {
        call.exec.copy(as_const_span(next), mine_.template take<A>(call.exec, layout_.rights));
      }
    }
    sum(call, next);
  }

  template <class C, class T>
  void deliver(const MethodCall<E, C, T>& call) {
    using A = arithmetic_t<T>;
    const A* const first = first_.template view<A>(0).data();
    for (const auto& piece : call.pieces) {
      const Place place = layout_.places[piece.part];
      if (!place.factored) {
        call.exec.for_each(piece.size,
                           kernel::Convert<A, T>{first + place.at + piece.at, piece.data});
        continue;
      }
      const Shape& shape = layout_.matrices[place.at];
      using Approximate = kernel::Approximate<T, A>;
      const auto of = [](const Scratch<E>& scratch, std::size_t at) {
        return scratch.template view<A>(0).data() + at;
      };
      const bool local = options_.error == LowRankError::local;
      const bool remembers = options_.error != LowRankError::none;
      call.exec.for_each(
          (piece.size + Approximate::run - 1) / Approximate::run,
          Approximate{first + layout_.plain + shape.left, of(next_, shape.right),
                      local ? of(mine_, shape.right) : nullptr, shape.rows, shape.cols, shape.rank,
                      piece.at, piece.size, call.mean() ? A(1) : static_cast<A>(call.ranks()),
                      piece.data, remembers ? of(compensated_, shape.values) : nullptr,
                      remembers ? of(residual_, shape.values) : nullptr});
    }
  }
  /// The errors that were left in place of the values are those to come, and so are the factors.
  void commit() {
    if (layout_.matrices.empty()) return;
    if (options_.error != LowRankError::none) std::swap(residual_, compensated_);
    std::swap(warm_, next_);
    stands_ = true;
  }

  /// Matrices that are approximated; all other parameters travel as they are.
  [[nodiscard]] std::size_t matrices() const noexcept { return layout_.matrices.size(); }
  /// What is remembered of part `part`, a matrix that is approximated, on this rank, in executor
  /// memory. Precondition: a step was accepted; A is the type of sums.
  template <class A>
  [[nodiscard]] std::span<const A> residual(std::size_t part) const {
    const Shape& shape = layout_.matrices[layout_.places[part].at];
    return {residual_.template view<A>(0).data() + shape.values, shape.rows * shape.cols};
  }
  /// The right factor from which part `part` starts in the next step, column after column; it may
  /// be written, on all ranks alike. Precondition: as above.
  template <class A>
  [[nodiscard]] std::span<A> factor(std::size_t part) const {
    const Shape& shape = layout_.matrices[layout_.places[part].at];
    return {warm_.template view<A>(0).data() + shape.right, shape.rank * shape.cols};
  }

  void save(E& exec, Writer& writer) {
    writer.value(stands_);
    if (!stands_) return;
    with([&]<class A>() {
      save_values<A>(exec, writer, residual_, layout_.values);
      save_values<A>(exec, writer, warm_, layout_.rights);
    });
  }
  void load(E& exec, Reader& reader) {
    stands_ = reader.value() != 0;
    if (!stands_) return;
    with([&]<class A>() {
      load_values<A>(exec, reader, residual_, layout_.values, "the residual");
      load_values<A>(exec, reader, warm_, layout_.rights, "the right factors");
    });
  }

 private:
  using Shape = LowRankLayout::Shape;
  using Place = LowRankLayout::Place;

  template <class F>
  void with(F f) {
    if (type_ == ValueType::float64) f.template operator()<double>();
    else f.template operator()<float>();
  }
  template <class A>
  kernel::Matrix<A> matrix(const Shape& shape) const {
    return {compensated_.template view<A>(0).data() + shape.values, shape.rows, shape.cols};
  }

  /// What travels as it is goes to its place in the payload, the others to the compensated values.
  template <class C, class T, class A>
  void gather(const MethodCall<E, C, T>& call, std::span<A> first) {
    const auto values = compensated_.template take<A>(call.exec, layout_.values);
    if (!stands_) {
      const auto zeros = residual_.template take<A>(call.exec, layout_.values);
      call.exec.for_each(layout_.values, kernel::Fill<A>{zeros.data(), A{}});
    }
    const A* const residual = residual_.template view<A>(0).data();
    const bool nothing = call.nothing || call.pieces.empty();
    if (nothing) {
      call.exec.for_each(layout_.plain, kernel::Fill<A>{first.data(), A{}});
      call.exec.for_each(layout_.values, kernel::Convert<A, A>{residual, values.data()});
      return;
    }
    for (const auto& piece : call.pieces) {
      const Place place = layout_.places[piece.part];
      if (place.factored) {
        const std::size_t at = layout_.matrices[place.at].values + piece.at;
        call.exec.for_each(
            piece.size, kernel::Compensate<T, A, A>{piece.data, residual + at, values.data() + at});
      } else {
        call.exec.for_each(piece.size,
                           kernel::Convert<T, A>{piece.data, first.data() + place.at + piece.at});
      }
    }
  }
  /// Right factors of columns of length one; those that are zeros, or not there yet, are drawn.
  template <class A>
  void prepare(E& exec, Step step) {
    const auto right = right_.template take<A>(exec, layout_.rights);
    const A* const warm = warm_.template view<A>(0).data();
    const auto lengths = lengths_.template take<double>(exec, options_.rank);
    const bool cold = !stands_ || !options_.warm_start;
    for (const Shape& shape : layout_.matrices) {
      const A* const from = cold ? nullptr : warm + shape.right;
      exec.for_each(shape.rank, kernel::ColumnLength<A>{from, shape.cols, lengths.data()});
      exec.for_each(shape.rank * shape.cols, kernel::PrepareColumns<A>{from,
                                                                       lengths.data(),
                                                                       shape.cols,
                                                                       {options_.seed, step},
                                                                       shape.part,
                                                                       right.data() + shape.right});
    }
  }
  template <class A>
  void orthonormalise(E& exec, A* lefts) {
    const auto table = table_.template take<kernel::Columns>(exec, layout_.columns.size());
    if (!table_written_) exec.write(std::span<const kernel::Columns>(layout_.columns), table);
    table_written_ = true;
    if (options_.orthonormalise_in == ValueType::float64) {
      exec.for_each(table.size(),
                    kernel::Orthonormalise<double, A>{lefts, table.data(), options_.floor});
    } else {
      exec.for_each(table.size(),
                    kernel::Orthonormalise<float, A>{lefts, table.data(), options_.floor});
    }
  }
  /// Over ranks; what is not finite then is flagged. Waits.
  template <class C, class T, class A>
  void sum(const MethodCall<E, C, T>& call, std::span<A> payload) {
    call.report.payload_bytes += payload.size_bytes();
    {
      const StageTimer timer(call.exec, "collective", call.report.seconds.collective);
      const SentMeter<C> meter(call.comm, call.report.bytes_sent);
      if (call.mean()) all_reduce(call.exec, call.comm, payload, Mean{});
      else all_reduce(call.exec, call.comm, payload, Sum{});
    }
    const StageTimer timer(call.exec, "decode", call.report.seconds.decode);
    if (call.looks()) {
      find_non_finite(call.exec, payload, call.flags.data() + kernel::non_finite_flag, scratch_);
    }
  }

  LowRank options_;
  ValueType type_ = ValueType::float32;
  LowRankLayout layout_;
  bool stands_ = false;  ///< are there residuals and warm factors?
  bool table_written_ = false;
  Scratch<E> residual_, warm_, compensated_, first_, next_, right_, mine_;
  Scratch<E> lengths_, table_, scratch_;
};

}  // namespace pactrain

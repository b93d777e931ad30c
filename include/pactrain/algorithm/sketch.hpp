// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/method.hpp>
#include <pactrain/algorithm/pack.hpp>
#include <pactrain/algorithm/sketch_heads.hpp>
#include <pactrain/algorithm/sketch_index.hpp>
#include <pactrain/algorithm/sketch_plan.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/report.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/kernel/flags.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/kernel/sketch_cells.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pactrain {

/// How a sketch's index travels.
enum class SketchIndexKind {
  bitmap,  ///< a bit for every position
  bloom    ///< a Bloom filter where it is smaller: it finds some positions more, whose sums are 0
};
/// What a sketch's cells hold.
enum class SketchCells {
  fixed64,  ///< whole numbers of a unit that all agree on: 62 bits below the largest value's
  fixed32,  ///< the same in half the bytes: 30 bits, less the binary digits of the number of ranks
  floating  ///< the type of sums; what is recovered carries the rounding of what was in its cells
};
/// What becomes of the entries that cannot be taken out of the sketch.
enum class SketchUnresolved {
  repair,   ///< they travel as they are, behind the cells, in the same all-reduce
  estimate  ///< the median of what their three cells say: lossy
};

/// Lossless homomorphic compression: an index of the entries that differ from zero, merged by OR,
/// and a count sketch of their values, merged by addition and decoded by peeling. Li, Xu, Chen,
/// Dwivedula, Wu, He, Akella, Kim: arXiv 2402.07529. The sketch is sized by the merged index, so
/// that all ranks know its size, and what cannot be peeled, before it is sent.
struct Sketch {
  double load = 0.7;  ///< entries per cell; above 0.8 most cannot be peeled
  SketchIndexKind index = SketchIndexKind::bitmap;
  SketchCells cells = SketchCells::fixed64;
  SketchUnresolved unresolved = SketchUnresolved::repair;
  /// Positions in a block that share their hashes, as in the authors' code, where it is 1024: a row
  /// of cells then is read and written as a whole.
  std::size_t lanes = 1;
  std::size_t segment = 1024;  ///< entries per lane of what is a sketch of its own
  double phantoms = 0.05;      ///< entries that a filter may find for each that there is
  std::uint64_t seed = 0;      ///< of the hashes; the same on all ranks

  [[nodiscard]] std::uint64_t fingerprint() const {
    return Fingerprint{}(load)(index)(cells)(unresolved)(lanes)(segment)(phantoms)(seed).value();
  }

  template <Executor E>
  class on;
};

template <Executor E>
class Sketch::on {
 public:
  explicit on(const Sketch& options) : options_(options) {
    expects(options.load >= 0.25 && options.load <= 1, [&] {
      return "the load is " + std::to_string(options.load) +
             " (entries per cell of a sketch); choose one in [0.25, 1], at most 0.75 to be decoded";
    });
    constexpr std::size_t most = std::size_t{1}
                                 << 25;  // so that places in a segment fit their bits
    expects(options.lanes > 0 && options.lanes <= most && options.segment > 0 &&
                options.segment <= most / options.lanes,
            "lanes and segment must not be 0, nor their product more than 2^25 (a segment is the "
            "work of one kernel call); choose smaller ones");
    expects(options.phantoms > 0, [&] {
      return "phantoms is " + std::to_string(options.phantoms) +
             " (no filter is free of them); choose a positive number, as 0.05";
    });
  }

  template <class A>
  void bind(E&, const Model&) {}
  [[nodiscard]] bool dense(Step) const { return false; }

  template <class C, class T>
  void exchange(const MethodCall<E, C, T>& call) {
    const auto pieces = call.nothing ? std::span<const Piece<T>>{} : call.pieces;
    const std::uint64_t hashes = kernel::mix(options_.seed, call.step);
    double largest = 0;
    {
      const StageTimer timer(call.exec, "keep", call.report.seconds.keep);
      const SentMeter<C> meter(call.comm, call.report.bytes_sent);
      index_.mark(call.exec, call.model.size(), pieces);
      const SketchHead head =
          heads_.gather(call.exec, call.comm, pieces, index_.count(), call.flags);
      if (head.flagged) return;  // the flag is raised, on all ranks
      kernel::BloomShape shape;
      if (options_.index == SketchIndexKind::bloom) {
        shape = bloom_shape(call.model.size(), head.entries, options_.phantoms, hashes);
      }
      index_.merge(call.exec, call.comm, shape);
      plan_.make(call.exec, index_.positions(call.exec), options_.segment * options_.lanes,
                 options_.lanes, options_.load, hashes);
      largest = head.largest;
    }
    call.report.kept = index_.count();
    if (options_.cells == SketchCells::fixed64) sum<std::uint64_t>(call, pieces, largest);
    else if (options_.cells == SketchCells::fixed32) sum<std::uint32_t>(call, pieces, largest);
    else sum<arithmetic_t<T>>(call, pieces, largest);
  }
  template <class C, class T>
  void deliver(const MethodCall<E, C, T>& call) {
    for (const auto& piece : call.pieces) {
      unpack(call.exec, index_.mask(), values_.template view<T>(0).data(), 0, piece);
    }
  }
  void commit() {}
  void save(E&, Writer&) {}
  void load(E&, Reader&) {}

  /// Of the last call: cells of the sketch, and the rounds in which it was peeled.
  [[nodiscard]] std::size_t cells() const noexcept { return plan_.cells(); }
  [[nodiscard]] std::size_t rounds() const noexcept { return plan_.rounds(); }
  /// Entries that could not be peeled, and were repaired or, where asked for, estimated.
  [[nodiscard]] std::size_t unresolved() const noexcept { return plan_.unresolved(); }
  /// Values of this rank that the agreed unit did not hold as they are.
  [[nodiscard]] std::size_t rounded() const noexcept { return rounded_; }
  /// Bits of the index, as it travelled.
  [[nodiscard]] std::size_t index_bits() const noexcept { return index_.bits(); }

 private:
  template <class Cell, class C, class T>
  void sum(const MethodCall<E, C, T>& call, std::span<const Piece<T>> pieces, double largest) {
    const bool repair = options_.unresolved == SketchUnresolved::repair;
    const std::size_t exact = repair ? plan_.unresolved() : 0, items = index_.count();
    const auto values = values_.template take<T>(call.exec, items);
    const auto payload = payload_.template take<Cell>(call.exec, plan_.cells() + exact);
    Cell* const behind = repair ? payload.data() + plan_.cells() : nullptr;
    const auto as = value_for<Cell>(largest, call.ranks());
    const auto found = found_.template take<std::size_t>(call.exec, 2);
    {
      const StageTimer timer(call.exec, "pack", call.report.seconds.pack);
      if (pieces.empty()) call.exec.for_each(items, kernel::Fill<T>{values.data(), T{}});
      for (const auto& piece : pieces) {
        pack(call.exec, index_.mask(), piece.as_const(), values.data(), 0,
             static_cast<std::uint32_t*>(nullptr), scratch_);
      }
    }
    {
      const StageTimer timer(call.exec, "encode", call.report.seconds.encode);
      call.exec.for_each(payload.size(), kernel::Fill<Cell>{payload.data(), Cell(0)});
      call.exec.for_each(
          plan_.segments(),
          kernel::EncodeSketch<T, Cell>{plan_.plan(), as, values.data(), payload.data(), behind});
      call.exec.reduce(items, std::size_t{0}, kernel::Inexact<T, Cell>{values.data(), as},
                       kernel::Add{}, std::span<std::size_t, 1>(&found[0], 1));
    }
    call.report.payload_bytes = payload.size_bytes();
    if (!payload.empty()) {
      const StageTimer timer(call.exec, "collective", call.report.seconds.collective);
      const SentMeter<C> meter(call.comm, call.report.bytes_sent);
      all_reduce(call.exec, call.comm, payload, Sum{});
    }
    const StageTimer timer(call.exec, "decode", call.report.seconds.decode);
    const double divisor = call.mean() ? static_cast<double>(call.ranks()) : 1.0;
    call.exec.for_each(plan_.segments(),
                       kernel::DecodeSketch<T, Cell>{plan_.plan(), as, divisor, payload.data(),
                                                     behind, values.data()});
    call.exec.reduce(plan_.cells(), std::size_t{0}, kernel::CellLeft<Cell>{payload.data()},
                     kernel::Or{}, std::span<std::size_t, 1>(&found[1], 1));
    if (call.looks()) {
      find_non_finite(call.exec, values, call.flags.data() + kernel::non_finite_flag, scratch_);
    }
    std::size_t host[2];
    call.exec.read(as_const_span(found), std::span<std::size_t>(host));
    rounded_ = host[0];
    if (std::integral<Cell> && (repair || plan_.unresolved() == 0) && host[1] != 0)
      broken(call.comm);
  }
  /// The unit under which the sum of `ranks` values up to `largest` fits a cell.
  template <class Cell>
  static kernel::SketchValue<Cell> value_for(double largest, std::size_t ranks) {
    if constexpr (std::integral<Cell>) return kernel::fixed_point<Cell>(largest, ranks);
    else return {};
  }
  template <class C>
  [[noreturn]] static void broken(C& comm) {
    const std::string what =
        "a sketch was not empty when all entries had been taken out of it (sums of integers are "
        "exact: memory, or the transport, has changed a value)";
    comm.abort(what.c_str());
    throw BackendError("pactrain: " + what + "; look for faults of the machine");
  }

  Sketch options_;
  SketchIndex<E> index_;
  SketchHeads<E> heads_;
  SketchPlan<E> plan_;
  std::size_t rounded_ = 0;
  Scratch<E> values_, payload_, found_, scratch_;
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/sketch_exchange.hpp>
#include <pactrain/algorithm/sketch_figures.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/value_type.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace pactrain {

/// How a sketch's index travels.
enum class SketchIndexKind {
  bitmap,  ///< a bit for every packed value
  bloom    ///< a Bloom filter where it is smaller: it finds some values more, whose sums are 0
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

/// Lossless homomorphic compression: an index of the packed values that differ from zero, merged by
/// OR, and a count sketch of them, merged by addition and decoded by peeling. Li, Xu, Chen,
/// Dwivedula, Wu, He, Akella, Kim: arXiv 2402.07529. The sketch is sized by the merged index, so
/// that all ranks know its size, and what cannot be peeled, before it is sent. The unit is agreed
/// for a call, which has to be of the whole model.
struct Sketch {
  static constexpr bool additive = false;
  static constexpr bool whole = true;
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
  [[nodiscard]] bool by_filter() const { return index == SketchIndexKind::bloom; }
  [[nodiscard]] bool repairs() const { return unresolved == SketchUnresolved::repair; }
  /// Calls `f` with the type of cells, where sums are made in A.
  template <class A, class F>
  void with_cell(F f) const {
    if (cells == SketchCells::fixed64) f.template operator()<std::uint64_t>();
    else if (cells == SketchCells::fixed32) f.template operator()<std::uint32_t>();
    else f.template operator()<A>();
  }

  template <Executor E>
  using state = SketchFigures;
  template <GradientValue T, GradientValue S, Executor E, class C>
  using exchange = SketchExchange<T, S, E, C, Sketch>;

  /// Refuses options that cannot work.
  template <Executor E>
  class on {
   public:
    on(const Sketch& options, state<E>&) {
      expects(options.load >= 0.25 && options.load <= 1, [&] {
        return "the load is " + std::to_string(options.load) +
               " (entries per cell of a sketch); choose one in [0.25, 1], at most 0.75 to be "
               "decoded";
      });
      // So that places in a segment fit their bits.
      constexpr std::size_t most = std::size_t{1} << 25;
      expects(options.lanes > 0 && options.lanes <= most && options.segment > 0 &&
                  options.segment <= most / options.lanes,
              "lanes and segment must not be 0, nor their product more than 2^25 (a segment is the "
              "work of one kernel call); choose smaller ones");
      expects(options.phantoms > 0, [&] {
        return "phantoms is " + std::to_string(options.phantoms) +
               " (no filter is free of them); choose a positive number, as 0.05";
      });
    }
  };
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/config.hpp>
#include <pactrain/core/error.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/core/value_type.hpp>
#include <pactrain/policy/policy.hpp>
#include <pactrain/policy/threshold_bits.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace pactrain {

namespace kernel {
/// flags[block] = has the block an entry of at least `bar`? A block that begins before the `n`
/// entries from place `at` of the part on has what it had.
template <class T>
struct FlagBlock {
  const T* x;
  std::size_t at, n, width;
  bits_t<T> bar;
  std::uint32_t* flags;  ///< of the part's blocks
  PACTRAIN_FN void operator()(std::size_t i) const {
    const std::size_t block = at / width + i, start = block * width;
    const std::size_t begin = start < at ? at : start;
    const std::size_t end = at + n < start + width ? at + n : start + width;
    std::uint32_t flag = begin > start ? flags[block] : 0;
    for (std::size_t p = begin; p < end; ++p) flag |= magnitude(x[p - at]) >= bar ? 1u : 0u;
    flags[block] = flag;
  }
};
/// Keeps the entries of flagged blocks; entry 0 is at place `at` of its part.
struct KeepFlagged {
  const std::uint32_t* flags;
  std::size_t at, width;
  PACTRAIN_FN bool operator()(std::size_t i) const { return flags[(at + i) / width] != 0; }
};
}  // namespace kernel

/// Keeps the blocks of B consecutive entries that differ from zero on this rank, to be united with
/// those of the others: OmniReduce's blocks (Fei et al., SIGCOMM 2021), summed by one all-reduce of
/// the united blocks instead of by aggregators. Lossless with the threshold of 0; it pays where
/// zeros cluster. `BlockMask<B>` stores such sets in a bit per block.
///
/// Blocks count from a parameter's first entry, the last may be short. A block is left out where
/// all of its |x| <= `threshold`; what is in it then waits in the residual, where there is one (the
/// original zeroes it). NaNs are kept; -0.0 is a zero. Throws `PreconditionError` for a threshold
/// that is negative or not finite.
template <std::size_t B = 256>
struct NonZeroBlocks {
  static_assert(B > 0, "NonZeroBlocks<B> keeps blocks of B entries: B >= 1");

  double threshold = 0;  ///< magnitudes up to here count as zero

  static constexpr Support support = Support::local;
  static constexpr Unkept unkept = Unkept::remembered;
  [[nodiscard]] std::uint64_t fingerprint() const { return Fingerprint()(B)(threshold).value(); }

  template <Executor E>
  class on {
   public:
    explicit on(const NonZeroBlocks& options) : threshold_(options.threshold) {
      expects(options.threshold >= 0 && std::isfinite(options.threshold), [&] {
        return "the threshold is " + std::to_string(options.threshold) +
               " (magnitudes are held against it); choose a finite one that is not negative";
      });
    }

    [[nodiscard]] std::uint64_t revision(Step) const { return 0; }
    template <class T>
    void prepare(E& exec, const Model& model, std::span<const Piece<T>> gradient, Step) {
      using V = std::remove_const_t<T>;
      starts_.assign(1, 0);
      for (const Part& part : model.parts()) {
        starts_.push_back(starts_.back() + part.size / B + (part.size % B != 0 ? 1 : 0));
      }
      const auto flags = flags_.template take<std::uint32_t>(exec, starts_.back());
      const auto bar = static_cast<bits_t<V>>(greatest_bits<V>(threshold_) + 1);
      std::vector<Piece<T>> pieces(gradient.begin(), gradient.end());
      std::ranges::sort(pieces, {}, &Piece<T>::first);  // a block may go on in the next piece
      for (const Piece<T>& piece : pieces) {
        if (piece.size == 0) continue;
        exec.for_each((piece.at + piece.size - 1) / B - piece.at / B + 1,
                      kernel::FlagBlock<V>{piece.data, piece.at, piece.size, B, bar,
                                           flags.data() + starts_[piece.part]});
      }
    }
    template <class T>
    [[nodiscard]] auto keep(const Piece<T>& piece) const {
      const auto flags = flags_.template view<std::uint32_t>(starts_.back());
      return kernel::KeepFlagged{flags.data() + starts_[piece.part], piece.at, B};
    }

   private:
    double threshold_;
    std::vector<std::size_t> starts_;  ///< the first block of each part
    Scratch<E> flags_;
  };
};

}  // namespace pactrain

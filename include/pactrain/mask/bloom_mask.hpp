// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/buffer.hpp>
#include <pactrain/core/executor.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/bloom_filter.hpp>
#include <pactrain/kernel/indices.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/mask/mask.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace pactrain {

/// How large a Bloom filter of `kept` of `n` positions is, with false positives at a rate f: one in
/// `one_in`, or 0.1 kept / n where that is 0. DeepReduce (Kostopoulou et al., arXiv 2102.03112):
/// ceil(log2 1/f) hashes, ceil(kept log2(1/f) / ln 2) bits.
struct BloomShape {
  std::uint64_t bits = 0, hashes = 0;

  [[nodiscard]] static BloomShape of(std::size_t kept, std::size_t n, std::size_t one_in) {
    if (kept == 0) return {};
    const double r = static_cast<double>(kept);
    const double inverse =
        one_in != 0 ? static_cast<double>(one_in) : 10 * static_cast<double>(n) / r;
    const double hashes = std::log2(inverse);
    return {static_cast<std::uint64_t>(std::ceil(r * hashes / std::log(2.0))),
            static_cast<std::uint64_t>(std::ceil(hashes))};
  }
};

/// Positions as a Bloom filter: about 1.44 log2(1/f) bits for each, whatever the model's size, in
/// place of 16 or 32. DeepReduce's lossless policy P0: the set is all positions that the filter
/// lets through, so some, at the rate f, are kept that were not asked for, and their values travel
/// too. None that was asked for is missing. A mask that travels with values only, in `Gathered`.
///
/// Wire: bits (8 bytes), hashes (8), the filter, padded to 8. Both ends ask the filter about every
/// position. It is filled on the host: the chosen positions are read back, so `end` waits. With
/// floats, and what passes by chance counted, shorter than indices of 4 bytes above 1e-5 of the
/// entries, and than a bitmap below 7 %.
template <std::size_t one_in>
struct BloomMaskOf {
  static_assert(one_in != 1,
                "pactrain: a false positive at every position keeps everything; "
                "choose one in 2 or more, or 0 for a tenth of what is kept");

  template <Executor E>
  class on {
   public:
    void begin(E& exec, const Model& model) {
      n_ = model.size();
      asked_.begin(exec, model);
    }
    template <class T, class Keep>
    void assign(E& exec, Piece<T> piece, Keep keep) {
      asked_.assign(exec, piece, keep);
    }
    void end(E& exec) {
      asked_.end(exec);
      const BloomShape shape = BloomShape::of(asked_.count(), n_, one_in);
      std::vector<std::byte> positions(asked_.positions().size());
      exec.read(asked_.positions(), std::span(positions));
      host_.assign(header_words + kernel::words_for(shape.bits), 0);
      host_[0] = shape.bits;
      host_[1] = shape.hashes;
      const kernel::BloomFilter filter{nullptr, shape.bits, shape.hashes};
      const kernel::Indices indices{positions.data(), asked_.count(), kernel::index_width(n_)};
      for (std::size_t i = 0; i < indices.count; ++i) {
        filter.places(indices.at(i), [&](std::uint64_t bit) {
          host_[header_words + bit / kernel::word_bits] |= kernel::Word{1}
                                                           << bit % kernel::word_bits;
        });
      }
      exec.write(std::span<const kernel::Word>(host_), take(exec, host_.size()));
      let_through(exec, shape);
    }

    template <class F>
    void visit(E& exec, std::size_t first, std::size_t last, F f) const {
      set_.visit(exec, first, last, f);
    }
    [[nodiscard]] kernel::Bits keep() const { return set_.keep(); }
    [[nodiscard]] kernel::Bits bits() const { return set_.bits(); }
    [[nodiscard]] std::size_t count() const noexcept { return set_.count(); }
    [[nodiscard]] std::size_t slot(E& exec, std::size_t position) const {
      return set_.slot(exec, position);
    }
    /// How many positions were asked for.
    [[nodiscard]] std::size_t asked() const noexcept { return asked_.count(); }

    [[nodiscard]] std::span<const std::byte> positions() const {
      return std::as_bytes(wire_.template view<kernel::Word>(size_));
    }
    void receive(E& exec, const Model& model, std::span<const std::byte> positions) {
      n_ = model.size();
      const std::size_t words = positions.size() / sizeof(kernel::Word);
      expects_positions(words >= header_words && positions.size() % sizeof(kernel::Word) == 0);
      const auto wire = take(exec, words);
      exec.copy(positions, std::as_writable_bytes(wire));
      kernel::Word header[header_words];
      exec.read(as_const_span(wire.first(header_words)), std::span<kernel::Word>(header));
      const BloomShape shape{header[0], header[1]};
      expects_positions(shape.bits / kernel::word_bits < words &&
                        kernel::words_for(shape.bits) == words - header_words &&
                        shape.hashes <= most_hashes && (shape.bits == 0) == (shape.hashes == 0));
      let_through(exec, shape);
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
      return asked_.bytes() + set_.bytes() + wire_.bytes();
    }

   private:
    static constexpr std::size_t header_words = 2, most_hashes = 64;

    std::span<kernel::Word> take(E& exec, std::size_t words) {
      size_ = words;
      return wire_.template take<kernel::Word>(exec, words);
    }
    /// The set becomes what the filter in the wire lets through.
    void let_through(E& exec, BloomShape shape) {
      const auto* const words = wire_.template view<kernel::Word>(size_).data() + header_words;
      set_.begin(exec, n_);
      set_.assign(exec, Piece<const float>{0, 0, 0, n_, nullptr},
                  kernel::BloomFilter{words, shape.bits, shape.hashes});
      set_.end(exec);
    }

    std::size_t n_ = 0, size_ = 0;
    std::vector<kernel::Word> host_;
    IndexMask::on<E> asked_;
    BitMask::on<E> set_;
    Scratch<E> wire_;
  };
};

/// A Bloom filter that lets a tenth as many through as were asked for.
using BloomMask = BloomMaskOf<0>;

}  // namespace pactrain

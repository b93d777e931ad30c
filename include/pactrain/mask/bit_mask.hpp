// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/fingerprint.hpp>
#include <pactrain/algorithm/kept_set.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/pack.hpp>
#include <pactrain/mask/mask.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pactrain {

/// One bit per entry, and a directory with the number of kept entries before every 512: n/8 + n/64
/// bytes, whatever the density. The representation to start with.
struct BitMask {
  template <Executor E>
  class on {
   public:
    void begin(E& exec, const Model& model) { begin(exec, model.size()); }
    /// The same for `n` positions of any kind, for representations that store blocks.
    void begin(E& exec, std::size_t n) {
      n_ = n;
      count_ = 0;
      auto words = words_.template take<kernel::Word>(exec, words_count());
      exec.for_each(words.size(), kernel::Fill<kernel::Word>{words.data(), 0});
    }
    template <class T, class Keep>
    void assign(E& exec, Piece<T> piece, Keep keep) {
      if (piece.size == 0) return;
      const std::size_t last = piece.first + piece.size - 1;
      exec.for_each(last / kernel::word_bits - piece.first / kernel::word_bits + 1,
                    kernel::Assign<Keep>{keep, piece.first, piece.size, words().data()});
    }
    void end(E& exec) {
      auto before = before_.template take<std::size_t>(exec, kernel::groups_for(n_) + 1);
      const std::size_t groups = kernel::groups_for(n_);
      exec.scan(groups, kernel::CountGroup{words().data(), words_count()}, before.first(groups),
                std::span<std::size_t, 1>(before.data() + groups, 1));
      exec.read(as_const_span(before.subspan(groups)), std::span(&count_, 1));
    }

    template <class F>
    void visit(E& exec, std::size_t first, std::size_t last, F f) const {
      if (first >= last) return;
      exec.for_each((last - 1) / kernel::group_bits - first / kernel::group_bits + 1,
                    kernel::VisitGroup<F>{f, bits(), first, last});
    }
    [[nodiscard]] kernel::Bits keep() const { return bits(); }
    /// The words and the directory, for executors that pack bits by a fast path of their own.
    [[nodiscard]] kernel::Bits bits() const { return {words().data(), directory().data()}; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] std::size_t slot(E& exec, std::size_t position) const {
      return position < n_ ? slot_of(exec, scalar_, bits(), position) : count_;
    }
    template <class T>
    void clear(E& exec, std::size_t first, std::span<T> values) const {
      if (values.empty()) return;
      if constexpr (requires { exec.clear_unkept(bits(), first, values); }) {
        exec.clear_unkept(bits(), first, values);
      } else {
        clear_unkept(exec, bits(), first, values);
      }
    }
    [[nodiscard]] std::uint64_t fingerprint(E& exec, std::size_t first, std::size_t last) const {
      return fingerprint_of(exec, scalar_, first, last, bits());
    }

    template <class C>
    void unite(E& exec, C& comm) {
      const auto ranks = static_cast<std::size_t>(comm.size());
      if (ranks > 1) {
        auto all = gathered_.template take<kernel::Word>(exec, words_count() * ranks);
        all_gather(exec, comm, as_const_span(words()), all);
        exec.for_each(words_count(),
                      kernel::Unite{words().data(), all.data(), words_count(), ranks});
        clear_beyond_end(exec);
      }
      end(exec);
    }
    template <class C>
    void broadcast(E& exec, C& comm, int root) {
      pactrain::broadcast(exec, comm, words(), root);
      clear_beyond_end(exec);
      end(exec);
    }

    /// The words, as they travel to ranks that keep other positions.
    [[nodiscard]] std::span<const std::byte> positions() const {
      return std::as_bytes(std::span<const kernel::Word>(words()));
    }
    void receive(E& exec, const Model& model, std::span<const std::byte> positions) {
      receive(exec, model.size(), positions);
    }
    void receive(E& exec, std::size_t n, std::span<const std::byte> positions) {
      n_ = n;
      const auto words = words_.template take<kernel::Word>(exec, words_count());
      expects_positions(positions.size() == words.size_bytes());
      exec.copy(positions, std::as_writable_bytes(words));
      clear_beyond_end(exec);
      end(exec);
    }

    [[nodiscard]] std::size_t bytes() const noexcept {
      return words_.bytes() + before_.bytes() + gathered_.bytes() + scalar_.bytes();
    }
    void save(E& exec, Writer& writer) const {
      std::vector<kernel::Word> words(words_count());
      exec.read(as_const_span(this->words()), std::span(words));
      writer.value(n_);
      writer.array(std::span<const kernel::Word>(words));
    }
    void load(E& exec, const Model& model, Reader& reader) { load(exec, model.size(), reader); }
    void load(E& exec, std::size_t n, Reader& reader) {
      reader.expect(n, "number of entries");
      const auto words = reader.array<kernel::Word>(kernel::words_for(n), "a bit mask");
      if (n % kernel::word_bits != 0 && words.back() >> n % kernel::word_bits != 0) {
        throw StateError("pactrain: the saved bit mask keeps entries beyond the model's end");
      }
      begin(exec, n);
      exec.write(std::span<const kernel::Word>(words), this->words());
      end(exec);
    }

   private:
    [[nodiscard]] std::size_t words_count() const { return kernel::words_for(n_); }
    /// What another rank sent may keep entries that there are not.
    void clear_beyond_end(E& exec) {
      if (n_ % kernel::word_bits == 0) return;
      const std::size_t last = words_count() - 1;
      const kernel::Word keep = kernel::between(last * kernel::word_bits, 0, n_);
      exec.for_each(1, kernel::Restrict{words().data() + last, keep});
    }
    [[nodiscard]] std::span<kernel::Word> words() const {
      return words_.template view<kernel::Word>(words_count());
    }
    [[nodiscard]] std::span<std::size_t> directory() const {
      return before_.template view<std::size_t>(kernel::groups_for(n_) + 1);
    }

    std::size_t n_ = 0, count_ = 0;
    Scratch<E> words_, before_, gathered_;
    mutable Scratch<E> scalar_;
  };
};

}  // namespace pactrain

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/archive.hpp>
#include <pactrain/core/buffer.hpp>
#include <pactrain/core/model.hpp>
#include <pactrain/kernel/bits.hpp>
#include <pactrain/kernel/magnitude.hpp>
#include <pactrain/kernel/pack.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// What a policy decided, one bit per entry of the model in an executor's memory: everything, until
/// something is assigned. It lets a policy decide in `prepare`, by value type, and answer `keep`
/// from the bits alone, for pieces that are cut anywhere.
template <Executor E>
class KeptBits {
 public:
  /// Everything is kept; no memory is needed for that.
  void keep_all() noexcept { decided_ = false; }
  /// Nothing of a model of `n` entries is kept yet.
  void begin(E& exec, std::size_t n) {
    n_ = n;
    decided_ = true;
    auto words = words_.template take<kernel::Word>(exec, kernel::words_for(n));
    exec.for_each(words.size(), kernel::Fill<kernel::Word>{words.data(), 0});
  }
  /// Of the `n` entries at position `first`, those are kept that `keep(0 ... n - 1)` says.
  template <class Keep>
  void assign(E& exec, std::size_t first, std::size_t n, Keep keep) {
    if (n == 0) return;
    const std::size_t last = first + n - 1;
    exec.for_each(last / kernel::word_bits - first / kernel::word_bits + 1,
                  kernel::Assign<Keep>{keep, first, n, words().data()});
  }
  /// Everything at once, from words on the host.
  void write(E& exec, std::size_t n, std::span<const kernel::Word> words) {
    n_ = n;
    decided_ = true;
    exec.write(words, words_.template take<kernel::Word>(exec, kernel::words_for(n)));
  }

  /// The answer for entries from position `first` on.
  [[nodiscard]] kernel::Among from(std::size_t first) const {
    return {decided_ ? words().data() : nullptr, first};
  }

  void save(E& exec, Writer& writer) const {
    writer.value(decided_ ? n_ : 0);
    if (!decided_ || n_ == 0) return;
    std::vector<kernel::Word> words(kernel::words_for(n_));
    exec.read(as_const_span(this->words()), std::span(words));
    writer.array(std::span<const kernel::Word>(words));
  }
  /// Throws `StateError` where the state is not one of `n` entries; then nothing has changed.
  void load(E& exec, std::size_t n, Reader& reader) {
    const std::uint64_t saved = reader.value();
    if (saved == 0) {
      keep_all();
      return;
    }
    if (saved != n) {
      throw StateError("pactrain: the state's policy decided on " + std::to_string(saved) +
                       " entries where the model has " + std::to_string(n) +
                       "; load the state of this model");
    }
    const auto words = reader.array<kernel::Word>(kernel::words_for(n), "a policy's bits");
    write(exec, n, words);
  }

 private:
  [[nodiscard]] std::span<kernel::Word> words() const {
    return words_.template view<kernel::Word>(kernel::words_for(n_));
  }

  std::size_t n_ = 0;
  bool decided_ = false;
  Scratch<E> words_;
};

}  // namespace pactrain

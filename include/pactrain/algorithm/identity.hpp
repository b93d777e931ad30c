// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/algorithm/agreement.hpp>
#include <pactrain/core/archive.hpp>
#include <pactrain/core/options.hpp>

#include <cstddef>
#include <cstdint>
#include <typeinfo>
#include <vector>

namespace pactrain {

/// What a reducer is made of, as numbers: compared over ranks, and with a saved state.
class ReducerIdentity {
 public:
  template <class Mask, class Policy, class Codec, class Feedback>
  [[nodiscard]] static ReducerIdentity of(int ranks, const Policy& policy, const Codec& codec,
                                          const Feedback& feedback, const ReduceOptions& options) {
    ReducerIdentity identity;
    identity.ranks_ = static_cast<std::uint64_t>(ranks);
    identity.words_ = {{"policy", kernel::mix(policy.fingerprint(), kind_of<Policy>())},
                       {"mask representation", kind_of<Mask>()},
                       {"codec", kernel::mix(codec.fingerprint(), kind_of<Codec>())},
                       {"feedback", kernel::mix(feedback.fingerprint(), kind_of<Feedback>())},
                       {"options", hash_of(options)}};
    return identity;
  }

  void state(std::vector<Statement>& statements) const {
    for (const Word& word : words_) statements.push_back({word.name, word.hash, false});
  }
  void save(Writer& writer) const {
    writer.value(magic);
    writer.value(version);
    writer.value(ranks_);
    for (const Word& word : words_) writer.value(word.hash);
  }
  /// Throws `StateError` unless the state is of such a reducer, on `ranks` ranks.
  void expect(Reader& reader, int ranks) const {
    reader.expect(magic, "format");
    reader.expect(version, "version of the format");
    reader.expect(static_cast<std::uint64_t>(ranks), "number of ranks");
    for (const Word& word : words_) reader.expect(word.hash, word.name);
  }

 private:
  static constexpr std::uint64_t magic = 0x6e69617274636170u;  // "pactrain"
  static constexpr std::uint64_t version = 2;
  struct Word {
    const char* name;
    std::uint64_t hash;
  };
  [[nodiscard]] static std::uint64_t hash_of(const ReduceOptions& options) {
    return Fingerprint{}(options.reduction)(options.non_finite)(options.seed).value();
  }
  template <class T>
  [[nodiscard]] static std::uint64_t kind_of() {
    std::uint64_t sum = 0, place = 0;
    for (const char* c = typeid(T).name(); *c != 0; ++c) {
      sum = kernel::mix(sum ^ static_cast<unsigned char>(*c), ++place);
    }
    return sum;
  }

  std::uint64_t ranks_ = 0;
  std::vector<Word> words_;
};

}  // namespace pactrain

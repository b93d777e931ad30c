// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <suite/plain_executor.hpp>

#include <pactrain/compress/cast.hpp>
#include <pactrain/compress/compressor.hpp>
#include <pactrain/compress/identity.hpp>
#include <pactrain/compress/int4.hpp>
#include <pactrain/compress/int8.hpp>
#include <pactrain/compress/min_max.hpp>
#include <pactrain/compress/natural.hpp>
#include <pactrain/compress/qsgd.hpp>
#include <pactrain/compress/sign.hpp>
#include <pactrain/compress/ternary.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/feedback/feedback.hpp>
#include <pactrain/host/executor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

using namespace pactrain;

namespace {

template <class Z>
constexpr bool everywhere = Compressor<Z, HostExecutor> && Compressor<Z, test::PlainExecutor>;
static_assert(everywhere<Identity> && everywhere<Cast<float16>> && everywhere<Cast<bfloat16>> &&
              everywhere<Ternary> && everywhere<Int8> && everywhere<Int4> && everywhere<Sign> &&
              everywhere<QSGD> && everywhere<MinMax> && everywhere<Natural>);
static_assert(!Compressor<float16, HostExecutor> && !Compressor<Identity, int>);

static_assert(is_in_place<Identity> && !is_in_place<Cast<float16>> && !is_in_place<Int8>);
static_assert(has_bounds<Ternary, HostExecutor> && !has_bounds<Int8, HostExecutor> &&
              !has_bounds<Identity, HostExecutor>);
static_assert(Ternary::additive && Identity::additive && !Int8::additive);

/// Does not say whether wires may be added.
struct Undecided {
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }
  template <Executor E>
  class on : public Identity::on<E> {
   public:
    explicit on(const Undecided&) : Identity::on<E>(Identity{}) {}
  };
};
/// Decodes in place of adding: a gathered wire would forget all ranks but one.
struct Overwrites {
  static constexpr bool additive = false;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }
  template <Executor E>
  class on {
   public:
    explicit on(const Overwrites&) {}
    void encode(E&, const CodecCall&, std::span<const float>, std::span<std::byte>) {}
    void decode(E&, const CodecCall&, std::span<const std::byte>, std::span<float>) {}
  };
};
/// Its options are compared by nobody.
struct Anonymous : Identity {
  std::uint64_t fingerprint() const = delete;
};
static_assert(!Compressor<Undecided, HostExecutor> && !Compressor<Overwrites, HostExecutor> &&
              !Compressor<Anonymous, HostExecutor>);

static_assert(Feedback<NoFeedback, HostExecutor> && Feedback<ErrorFeedback, HostExecutor>);
static_assert(!NoFeedback::active && ErrorFeedback::active);
/// Whether it remembers may change while it does.
struct Fickle {
  bool active = true;
  [[nodiscard]] std::uint64_t fingerprint() const { return 0; }
};
static_assert(!Feedback<Fickle, HostExecutor> && !Feedback<bool, HostExecutor> &&
              !Feedback<ErrorFeedback, int>);

}  // namespace

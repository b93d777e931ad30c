// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Jobs whose ranks choose for themselves.
#include <pactrain/balanced.hpp>
#include <pactrain/compress/int8.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/gathered.hpp>
#include <pactrain/hashed.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/bloom_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/sidco.hpp>
#include <pactrain/policy/top_k.hpp>
#include <pactrain/sparse_all_reduce.hpp>
#include <pactrain/sparse_streams.hpp>

#include <reliability/reducer_job.hpp>

#include <type_traits>

namespace pactrain::test {

namespace {

using B = FaultyBackend;

/// With the choice `policy` of each rank.
template <class P, class M, class Z = Identity, class Choice>
JobMaker local(const char* name, JobShape shape, Choice policy) {
  using R = SparseAllReduce<P, M, B, Z, ErrorFeedback>;
  return reducer_job<R>(name, shape,
                        [policy](B& backend, const auto&, const ReduceOptions& options) {
                          if constexpr (std::is_constructible_v<R, B&, Choice>) {
                            return R(backend, policy, {}, {}, options);
                          } else {
                            return R(backend, P{.policy = policy}, {}, {}, options);
                          }
                        });
}

}  // namespace

std::vector<JobMaker> local_jobs() {
  const TopK top{.fraction = 0.1};
  const SIDCo fitted{.fraction = 0.1, .window = 1};
  return {
      local<TopK, IndexMask>("united", {.oracle_gamma = 1}, top),
      local<SIDCo, IndexMask>("fitted", {.oracle_gamma = 1}, fitted),
      local<Gathered<TopK>, IndexMask>("gathered", {}, top),
      local<Gathered<SIDCo>, IndexMask>("gathered fitted", {}, fitted),
      local<Gathered<TopK>, BitMask, Int8>("gathered int8", {}, top),
      local<Gathered<TopK>, BloomMask>("bloom", {}, top),
      local<SparseStreams<TopK>, IndexMask>("streams", {}, top),
      local<Hashed<TopK>, BitMask>("hashed", {}, top),
      local<Balanced<TopK>, IndexMask>("balanced", {},
                                       TopK{.fraction = 0.1, .scope = Scope::global}),
  };
}

}  // namespace pactrain::test

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Jobs with masks that all ranks share.
#include <pactrain/compress/ternary.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/mask/index_mask.hpp>
#include <pactrain/policy/cyclic_top_k.hpp>
#include <pactrain/policy/gradual_magnitude.hpp>
#include <pactrain/policy/random_k.hpp>
#include <pactrain/policy/rig_l.hpp>
#include <pactrain/policy/track_zeros.hpp>
#include <pactrain/sparse_all_reduce.hpp>

#include <reliability/reducer_job.hpp>

namespace pactrain::test {

namespace {
using B = FaultyBackend;
template <class P, class M, class Z = Identity, class F = NoFeedback>
using Reduce = SparseAllReduce<P, M, B, Z, F>;
}  // namespace

std::vector<JobMaker> shared_jobs() {
  using Dense = DenseAllReduce<B>;
  using Ternaries = Reduce<GradualMagnitude, BitMask, Ternary, ErrorFeedback>;
  using Moving = Reduce<RigL, BitMask>;
  using Random = Reduce<RandomK, BitMask, Identity, ErrorFeedback>;
  using Cyclic = Reduce<CyclicTopK, IndexMask, Identity, ErrorFeedback>;
  using Learned = Reduce<TrackZeros, BitMask>;
  const auto dense = [](B& backend, const auto&, const ReduceOptions& options) {
    return Dense(backend, {}, {}, {}, options);
  };
  return {
      reducer_job<Dense>("dense", {.oracle_gamma = 0}, dense),
      reducer_job<Dense>("buckets", {.oracle_gamma = 0, .buckets = true}, dense),
      reducer_job<Ternaries>(
          "ternary", {},
          [](B& backend, const auto& weights, const ReduceOptions& options) {
            return Ternaries(
                backend,
                {.weights = weights, .final_sparsity = 0.8, .begin = 1, .end = 9, .every = 2}, {},
                {}, options);
          }),
      reducer_job<Moving>("moving", {.oracle_gamma = 0},
                          [](B& backend, const auto& weights, const ReduceOptions& options) {
                            return Moving(backend,
                                          {.weights = weights,
                                           .sparsity = 0.7,
                                           .every = 2,
                                           .end = Step{1} << 40,
                                           .growth = Growth::random},
                                          {}, {}, options);
                          }),
      reducer_job<Random>("random", {.oracle_gamma = 1},
                          [](B& backend, const auto&, const ReduceOptions& options) {
                            return Random(backend, {.fraction = 0.2}, {}, {}, options);
                          }),
      reducer_job<Cyclic>("cyclic", {.oracle_gamma = 1},
                          [](B& backend, const auto&, const ReduceOptions& options) {
                            return Cyclic(backend, {.fraction = 0.1}, {}, {}, options);
                          }),
      reducer_job<Learned>("learned",
                           {.oracle_gamma = 0, .everything = true, .period = 4, .strays = true},
                           [](B& backend, const auto&, const ReduceOptions& options) {
                             return Learned(backend, {.patience = 1}, {}, {}, options);
                           }),
  };
}

}  // namespace pactrain::test

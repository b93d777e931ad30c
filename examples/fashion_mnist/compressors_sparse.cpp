// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A part of the entries at each step; the others wait in the residual.
#include "reducer.hpp"

#include <pactrain/pactrain.hpp>

#include <vector>

namespace demo {
namespace {

using namespace pactrain;

}  // namespace

std::vector<Compressor> sparse_compressors() {
  return {
      {"topk", "one in a hundred, gathered with positions",
       [](const Task& task) {
         using R = SparseAllReduce<Gathered<TopK>, IndexMask, Backend, Identity, ErrorFeedback>;
         return reducer<R>(task, TopK{.fraction = 0.01});
       }},
      {"topk-0.1", "one in ten, gathered with positions",
       [](const Task& task) {
         using R = SparseAllReduce<Gathered<TopK>, IndexMask, Backend, Identity, ErrorFeedback>;
         return reducer<R>(task, TopK{.fraction = 0.1});
       }},
      {"topk-bloom", "the same, positions as a Bloom filter (DeepReduce)",
       [](const Task& task) {
         using R = SparseAllReduce<Gathered<TopK>, BloomMask, Backend, Identity, ErrorFeedback>;
         return reducer<R>(task, TopK{.fraction = 0.01});
       }},
      {"sparcml", "the same, added by owners of ranges, sparse until dense is shorter (SparCML)",
       [](const Task& task) {
         using R =
             SparseAllReduce<SparseStreams<TopK>, IndexMask, Backend, Identity, ErrorFeedback>;
         return reducer<R>(task, SparseStreams<TopK>{.policy = {.fraction = 0.01}});
       }},
      {"oktopk", "one in a hundred of the sums, in balanced regions (Ok-Topk)",
       [](const Task& task) {
         using R = SparseAllReduce<Balanced<TopK>, IndexMask, Backend, Identity, ErrorFeedback>;
         return reducer<R>(task,
                           Balanced<TopK>{.policy = {.fraction = 0.01, .scope = Scope::global}});
       }},
      {"zen", "the same as sparcml, owners by a hash of the position (Zen)",
       [](const Task& task) {
         using R = SparseAllReduce<Hashed<TopK>, BitMask, Backend, Identity, ErrorFeedback>;
         return reducer<R>(task, Hashed<TopK>{.policy = {.fraction = 0.01}});
       }},
      {"sketch", "one in a hundred of each rank, as a sketch that is peeled",
       [](const Task& task) {
         using R = SparseAllReduce<TopK, BitMask, Backend, Sketch, ErrorFeedback>;
         return reducer<R>(task, TopK{.fraction = 0.01});
       }},
      {"topk-united", "one in a hundred of each rank, at the union of all",
       [](const Task& task) {
         using R = SparseAllReduce<TopK, IndexMask, Backend, Identity, ErrorFeedback>;
         return reducer<R>(task, TopK{.fraction = 0.01});
       }},
  };
}

}  // namespace demo

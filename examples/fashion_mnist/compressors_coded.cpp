// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All entries of the gradient, in few bits each.
#include "reducer.hpp"

#include <pactrain/pactrain.hpp>

#include <memory>
#include <vector>

namespace demo {
namespace {

using namespace pactrain;

template <class Codec, class Feedback = NoFeedback>
std::unique_ptr<Reducer> coded(const Task& task, Codec codec, Feedback feedback = {}) {
  return reducer<DenseAllReduce<Backend, Codec, Feedback>>(task, KeepAll{}, codec, feedback);
}

}  // namespace

std::vector<Compressor> coded_compressors() {
  return {
      {"loco", "half a byte, summed by owners of shares, a smoothed error in a byte (LoCo)",
       [](const Task& task) {
         return coded(task, Scattered<Int4>{},
                      ErrorFeedback{.gamma = 0.2, .reset_period = 512, .storage = ValueType::int8});
       }},
      {"sign", "a bit and a mean size, gathered, with feedback (EF-signSGD)",
       [](const Task& task) { return coded(task, Sign{}, ErrorFeedback{}); }},
      {"qsgd", "four bits, drawn, by the norm of 512 values (QSGD)",
       [](const Task& task) { return coded(task, QSGD{}); }},
      {"natural", "a sign and an exponent, drawn (natural compression)",
       [](const Task& task) { return coded(task, Natural{}); }},
      {"cgx", "four bits between least and largest of 512, summed by owners (CGX)",
       [](const Task& task) { return coded(task, Scattered<MinMax>{}); }},
      {"thc", "rotated, four bits of a normal table, added as they are, with feedback (THC)",
       [](const Task& task) {
         return coded(task, Pipeline<RandomisedHadamard, NormalHomomorphic>{}, ErrorFeedback{});
       }},
      {"powersgd", "two thin factors of each matrix, of rank 4 (PowerSGD)",
       [](const Task& task) {
         return reducer<LowRankAllReduce<Backend>>(task, LowRank{.rank = 4, .start = 0});
       }},
  };
}

}  // namespace demo

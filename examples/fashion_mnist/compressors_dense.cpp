// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All entries of the gradient, as they are and coded.
#include "reducer.hpp"

#include <pactrain/pactrain.hpp>

#include <vector>

namespace demo {
namespace {

using namespace pactrain;

template <class Codec, class Feedback = NoFeedback>
using Dense = DenseAllReduce<Backend, Codec, Feedback>;

}  // namespace

std::vector<Compressor> dense_compressors() {
  return {
      {"dense", "the sum of all entries, in four bytes",
       [](const Task& task) { return reducer<Dense<Identity>>(task); }},
      {"fp16", "the same, in two",
       [](const Task& task) { return reducer<Dense<Cast<float16>>>(task); }},
      {"int8", "a byte each, gathered, with feedback",
       [](const Task& task) {
         return reducer<Dense<Int8, ErrorFeedback>>(task, KeepAll{}, Int8{}, ErrorFeedback{});
       }},
      {"int8-scattered", "a byte each, summed by owners of shares (CGX's way), with feedback",
       [](const Task& task) { return reducer<Dense<Scattered<Int8>, ErrorFeedback>>(task); }},
      {"terngrad", "-1, 0, 1 with one scale a parameter, cut at 2.5 root mean squares",
       [](const Task& task) {
         return reducer<Dense<Ternary>>(task, KeepAll{}, Ternary{.clip = 2.5});
       }},
  };
}

}  // namespace demo

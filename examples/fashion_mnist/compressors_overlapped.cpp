// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients that travel in buckets while backward goes on.
#include "reducer.hpp"
#include "scores.hpp"

#include <pactrain/pactrain.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace demo {
namespace {

using namespace pactrain;

template <class R>
class Overlapped final : public ReducerOf<R> {
 public:
  template <class... Arguments>
  explicit Overlapped(const Task& task, Arguments&&... arguments)
      : ReducerOf<R>(task.backend, std::forward<Arguments>(arguments)...),
        buckets_(this->reduce_, task.gradient.parts()) {}

  void ready(std::size_t part) override {
    buckets_.ready(part);
    buckets_.advance();
  }
  Report reduce(const Slices&) override { return buckets_.finish(); }

 private:
  GradientBuckets<R, float> buckets_;
};

template <class Codec, class Feedback = NoFeedback>
std::unique_ptr<Reducer> scored(const Task& task, Codec codec, Feedback feedback = {}) {
  using R = SparseAllReduce<ByScore, BitMask, Backend, Codec, Feedback>;
  const auto scores = snip(task);
  auto made = std::make_unique<Overlapped<R>>(task, by_score(task, *scores), codec, feedback);
  made->hold(scores);
  return made;
}

}  // namespace

std::vector<Compressor> overlapped_compressors() {
  return {
      {"dense-overlap", "dense, in buckets that travel while backward goes on",
       [](const Task& task) -> std::unique_ptr<Reducer> {
         return std::make_unique<Overlapped<DenseAllReduce<Backend>>>(task);
       }},
      {"pactrain-snip-overlap", "the same of pactrain-snip",
       [](const Task& task) { return scored(task, Identity{}); }, 0.2},
      {"pactrain-snip-ternary-overlap", "the same of pactrain-snip-ternary",
       [](const Task& task) {
         return scored(task, Ternary{.clip = task.recipe.clip},
                       ErrorFeedback{.gamma = task.recipe.gamma});
       },
       0.2},
  };
}

}  // namespace demo

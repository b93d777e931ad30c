// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/backend.hpp>
#include <pactrain/cost/cost_model.hpp>
#include <pactrain/cost/stopwatch.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/feedback.hpp>
#include <pactrain/mask/bit_mask.hpp>
#include <pactrain/policy/random_pruning.hpp>
#include <pactrain/sparse_all_reduce.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace pactrain {

/// Bytes that a rank sent in so many seconds on the wire.
struct LinkSample {
  double bytes = 0, seconds = 0;
};

/// The rate and the burst of a link, from messages of growing size: the rate is what the last has
/// more than the one before it, over how much longer it took, or where that cannot be its own; the
/// burst is what was sent, at most, beyond that rate.
inline void fit_link(CostModel& model, std::span<const LinkSample> samples) {
  const LinkSample last = samples.back();
  const auto moving = [&](const LinkSample& sample) {
    return std::max(sample.seconds - 2 * model.latency, sample.seconds / 10);
  };
  model.rate = last.bytes / moving(last);
  if (samples.size() > 1) {
    const LinkSample before = samples[samples.size() - 2];
    const double slope = (last.bytes - before.bytes) / (last.seconds - before.seconds);
    // Slower than on average it may be, by what passed at once; faster it was for another reason.
    if (slope > model.rate / 2 && slope < model.rate) model.rate = slope;
  }
  model.burst = 0;
  for (const LinkSample& sample : samples) {
    model.burst = std::max(model.burst, sample.bytes - model.rate * moving(sample));
  }
}

/// Measures a `CostModel` on the ranks of `backend`, with `codecs` as its candidates, by making
/// reductions of floats: dense ones of one value and of growing size until one takes 50 ms, which
/// tell latency and rate; then packed ones at half density, and dense ones
/// by each codec, all with a feedback of the kind `F`. Each number counts as on the slowest rank,
/// and is the same on all. Takes less than a second on links from 100 Mbit/s on. Collective; waits.
///
/// On an executor that queues its work, stages are as long as their queueing, and the rest counts
/// as time on the wire. A codec whose traffic is no sum and no gather is taken for a sum of as many
/// bytes as it sends here. Throws what the codecs throw.
template <class F = NoFeedback, Backend B, class... Codecs>
[[nodiscard]] CostModel calibrate(B& backend, const Codecs&... codecs) {
  constexpr double long_enough = 0.05;  // seconds
  constexpr std::size_t first = 4096, growth = 4, most = std::size_t{1} << 20;
  constexpr std::size_t most_coded = std::size_t{1} << 16;
  constexpr int repeats = 3;
  const int ranks = backend.communicator().size();
  const double p = ranks;
  Stopwatch<B> watch(backend, most);
  CostModel model;
  const auto warm = [&](auto& reduce, std::size_t n, int times) {
    static_cast<void>(watch.measure(reduce, n, 1));
    return watch.measure(reduce, n, times);
  };

  DenseAllReduce<B, Identity, F> tiny{backend};
  const auto empty = warm(tiny, 1, 25);
  model.latency = empty.collective / 2;
  model.call = std::max(0.0, empty.wall - empty.collective);
  model.add = ranks > 1 ? watch.add(most_coded) : 0;

  std::size_t n = first;
  std::vector<LinkSample> samples;
  for (;; n *= growth) {
    DenseAllReduce<B, Identity, F> dense{backend};
    const auto values = static_cast<double>(n);
    typename Stopwatch<B>::Sample large;
    if (n <= most_coded) {
      large = warm(dense, n, repeats);
      model.copy = (large.before + large.encode) / values;
      model.write = (large.decode + large.after) / values;
    } else {
      large = watch.measure(dense, n, 2);
    }
    samples.push_back({large.sent, std::max(0.0, large.collective - values * model.add)});
    if (large.wall >= long_enough || n * growth > most) break;
  }
  if (ranks > 1) fit_link(model, samples);
  else model.rate = sizeof(float) / std::max(model.copy, 1e-12);
  n = std::min(n, most_coded);
  const auto values = static_cast<double>(n);
  {
    SparseAllReduce<RandomPruning, BitMask, B, Identity, F> packed{backend, {.sparsity = 0.5}};
    const auto half = warm(packed, n, repeats);
    model.pack = (half.before + half.encode) / values;
    model.unpack = (half.decode + half.after) / values;
  }
  const auto add = [&]<class Z>(const Z& codec) {
    DenseAllReduce<B, Z, F> coded{backend, {}, codec}, coded_tiny{backend, {}, codec};
    const auto all = warm(coded, n, repeats);
    const auto small = warm(coded_tiny, 1, 9);
    CodecCost cost;
    cost.gathered = !Z::additive && !detail::BringsExchange<Z, typename B::executor_type>;
    cost.encode = all.encode / values;
    cost.decode = all.decode / values / (cost.gathered ? p : 1);
    const double phases = cost.gathered ? 1 : 2;
    cost.call = std::max(0.0, small.wall - model.call - phases * model.latency);
    if (ranks > 1) {
      const double shares = cost.gathered ? p - 1 : 2 * (p - 1) / p;
      cost.bytes = std::max(0.0, all.sent - small.sent) / values / shares;
    }
    model.codecs.push_back(cost);
  };
  (add(codecs), ...);
  return model;
}

}  // namespace pactrain

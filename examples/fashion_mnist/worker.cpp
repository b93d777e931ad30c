// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "worker.hpp"

#include "gather.hpp"
#include "optimiser.hpp"
#include "progress.hpp"
#include "run_log.hpp"
#include "shard.hpp"

#include <pactrain/pactrain.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace demo {

Worker::Worker(Backend& backend, const Settings& settings, const Problem& problem)
    : backend_(backend),
      settings_(settings),
      network_(problem.make_network()),
      rank_(static_cast<std::size_t>(backend.communicator().rank())),
      ranks_(static_cast<std::size_t>(backend.communicator().size())),
      batch_(settings.batch / ranks_),
      steps_per_epoch_(network_->train_size() / ranks_ / batch_),
      steps_(settings.steps != 0 ? settings.steps : settings.epochs * steps_per_epoch_),
      weights_(network_->shapes()),
      gradient_(network_->shapes()),
      velocity_(network_->shapes()) {
  if (steps_per_epoch_ == 0)
    throw std::runtime_error("there are " + std::to_string(network_->train_size()) +
                             " examples, fewer than a step takes. Ask for a smaller --batch.");
}

Result Worker::train(const Run& run) {
  const std::uint64_t sent_before = backend_.communicator().bytes_sent();
  // Another start on each rank, so that nothing but the broadcast makes the replicas equal.
  network_->initialise(weights_, settings_.seed + 1000 * rank_);
  pactrain::broadcast(backend_, weights_.parts());
  for (float& v : velocity_.values()) v = 0;
  const Compressor& by = compressor(run.compressor);
  // Scores that ranks agree on before the first step are paid for, too.
  Cost prepared;
  const std::uint64_t sent_unprepared = backend_.communicator().bytes_sent();
  const auto start = std::chrono::steady_clock::now();
  prepared.stages.start();
  const auto reducer =
      by.make({backend_, *network_, run, settings_.recipe, steps_, weights_, gradient_});
  prepared.stages.stop("prepare");
  prepared.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  prepared.sent = static_cast<double>(backend_.communicator().bytes_sent() - sent_unprepared);
  Result result = train(run, by, *reducer, prepared);
  result.bytes_in_all =
      mean(static_cast<double>(backend_.communicator().bytes_sent() - sent_before));
  return result;
}

Result Worker::train(const Run& run, const Compressor& by, Reducer& reducer, const Cost& prepared) {
  const Recipe& recipe = settings_.recipe;
  const Optimiser optimiser{
      .momentum = by.momentum < 0 ? recipe.momentum : static_cast<float>(by.momentum),
      .decay = recipe.decay};
  const LearningRate rate{
      .peak = by.rate == 0 ? recipe.rate : by.rate,
      .rise = static_cast<std::size_t>(recipe.rise * static_cast<double>(steps_)),
      .steps = steps_};
  Shard shard(network_->train_size(), rank_, ranks_, settings_.seed);
  const auto show = rank_ != 0                       ? Progress::Style::nothing
                    : settings_.backend == "threads" ? Progress::Style::bar
                                                     : Progress::Style::lines;
  Progress progress(show, run.name, steps_);
  RunLog log(backend_, settings_, run);
  Result result;
  result.run = run;
  Cost all = prepared, steady;
  std::size_t kept = weights_.values().size(), least = kept;
  double loss = 0;
  for (std::size_t step = 0; step < steps_; ++step) {
    const std::size_t epoch = step / steps_per_epoch_, in_epoch = step % steps_per_epoch_;
    if (in_epoch == 0) {
      shard.shuffle(epoch);
      loss = 0;
    }
    Cost cost;
    cost.steps = 1;
    const auto start = std::chrono::steady_clock::now();
    loss += backward(reducer, shard.batch(in_epoch, batch_), cost.stages);
    const pactrain::Report report = reducer.reduce(gradient_.parts());
    cost.stages.add(report);
    log.note(report);
    cost.stages.start();
    // A mask that prunes more and more has changed where it keeps less. Once weight and velocity
    // are zero they stay so, as their gradient is.
    if (report.kept != kept) {
      reducer.prune(weights_.parts());
      reducer.prune(velocity_.parts());
      kept = report.kept;
    }
    optimiser(weights_, gradient_, velocity_, rate(step));
    cost.stages.stop("optimiser");
    cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    cost.seconds_of_each = {cost.seconds};
    cost.payload = static_cast<double>(report.payload_bytes);
    cost.sent = static_cast<double>(report.bytes_sent);
    all += cost;
    if (report.kept < least) steady = {};
    else steady += cost;
    least = std::min(least, report.kept);
    const std::size_t done = step + 1;
    progress.step(done);
    const bool last = done == steps_, epoch_ends = in_epoch + 1 == steps_per_epoch_;
    const bool due = settings_.evaluate_every != 0
                         ? done % settings_.evaluate_every == 0
                         : epoch_ends || in_epoch + 1 == steps_per_epoch_ / 2;
    if (due || last) note_accuracy(all, result);
    if (!epoch_ends && !last) continue;
    compare_replicas(done, result);
    result.loss = mean(loss) / static_cast<double>(in_epoch + 1);
    progress.epoch(epoch + 1, (steps_ - 1) / steps_per_epoch_ + 1, done, result.loss,
                   result.accuracy);
  }
  progress.finish(result.accuracy);
  result.summary = log.summary();
  note_cost(all, steady.steps == 0 ? all : steady, result);
  result.kept = static_cast<double>(kept) / static_cast<double>(weights_.values().size());
  return result;
}

/// The time in which the reducer takes up a part is the reducer's.
double Worker::backward(Reducer& reducer, std::span<const std::uint32_t> examples, Stages& stages) {
  stages.start();
  const double loss = network_->backward(weights_, examples, gradient_, [&](std::size_t part) {
    stages.stop("forward+backward");
    reducer.ready(part);
    stages.start();
  });
  stages.stop("forward+backward");
  return loss;
}

/// Each rank looks at its part of the test examples, although all would find the same.
void Worker::note_accuracy(const Cost& all, Result& result) {
  const std::size_t count = network_->test_size();
  const Score mine = network_->test(weights_, count * rank_ / ranks_, count * (rank_ + 1) / ranks_);
  result.accuracy = mean(static_cast<double>(mine.right)) / mean(static_cast<double>(mine.of));
  result.curve.push_back({all.steps, result.accuracy, mean(all.sent), mean(all.seconds)});
}

void Worker::note_cost(const Cost& all, const Cost& steady, Result& result) {
  const auto a_step = [&](double sum, const Cost& cost) {
    return mean(sum) / static_cast<double>(cost.steps);
  };
  result.steps = all.steps;
  result.steps_steady = steady.steps;
  result.payload_per_step = a_step(all.payload, all);
  result.bytes_per_step = a_step(all.sent, all);
  result.seconds_per_step = a_step(all.seconds, all);
  result.payload_per_step_steady = a_step(steady.payload, steady);
  result.bytes_per_step_steady = a_step(steady.sent, steady);
  result.seconds_per_step_steady = a_step(steady.seconds, steady);
  std::vector<double> each = steady.seconds_of_each;
  std::ranges::sort(each);
  for (std::size_t quarter = 1; quarter < 4; ++quarter)
    result.quartiles_steady[quarter - 1] = each[(each.size() - 1) * quarter / 4];
  for (const auto& [name, seconds] : all.stages.seconds())
    result.stages.emplace_back(name, a_step(seconds, all));
  for (const auto& [name, seconds] : steady.stages.seconds())
    result.stages_steady.emplace_back(name, a_step(seconds, steady));
}

void Worker::compare_replicas(std::size_t step, Result& result) {
  result.weights = fingerprint(weights_.values());
  const std::vector<std::uint64_t> all = gather(backend_, result.weights);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw std::runtime_error("after step " + std::to_string(step) + " the weights of rank " +
                               std::to_string(rank) +
                               " differ from those of rank 0. That is an error in pactrain or "
                               "in this program; please report it with the options used.");
}

/// The mean over the ranks of a number that each measured for itself.
double Worker::mean(double mine) {
  const std::vector<double> all = gather(backend_, mine);
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(ranks_);
}

}  // namespace demo

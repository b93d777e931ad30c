// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "worker.hpp"

#include "gather.hpp"
#include "optimiser.hpp"
#include "progress.hpp"
#include "shard.hpp"
#include "stages.hpp"

#include <pactrain/pactrain.hpp>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace demo {

Worker::Worker(Backend& backend, const Settings& settings, const FashionMnist& data)
    : backend_(backend),
      settings_(settings),
      data_(data),
      rank_(static_cast<std::size_t>(backend.communicator().rank())),
      ranks_(static_cast<std::size_t>(backend.communicator().size())),
      batch_(settings.batch / ranks_),
      steps_per_epoch_(data.train.size() / ranks_ / batch_),
      steps_(settings.epochs * steps_per_epoch_) {}

Result Worker::train(const Run& run) {
  // Another start on each rank, so that nothing but the broadcast makes the replicas equal.
  Network::initialise(weights_, settings_.seed + 1000 * rank_);
  pactrain::broadcast(backend_, weights_.parts());
  for (float& v : velocity_.values()) v = 0;
  const Compressor& by = compressor(run.compressor);
  const auto reducer = by.make({backend_, data_, run, settings_.recipe, steps_, weights_});
  return train(run, by, *reducer);
}

Result Worker::train(const Run& run, const Compressor& by, Reducer& reducer) {
  const Recipe& recipe = settings_.recipe;
  const Optimiser optimiser{
      .momentum = by.momentum < 0 ? recipe.momentum : static_cast<float>(by.momentum),
      .decay = recipe.decay};
  const LearningRate rate{
      .peak = by.rate == 0 ? recipe.rate : by.rate,
      .rise = static_cast<std::size_t>(recipe.rise * static_cast<double>(steps_)),
      .steps = steps_};
  Shard shard(data_.train.size(), rank_, ranks_, settings_.seed);
  const auto show = rank_ != 0                       ? Progress::Style::nothing
                    : settings_.backend == "threads" ? Progress::Style::bar
                                                     : Progress::Style::lines;
  Progress progress(show, run.name, steps_);
  Stages stages;
  Result result;
  result.run = run;
  pactrain::Report report;
  double payload = 0, sent = 0;
  std::size_t kept = weights_.values().size();
  for (std::size_t epoch = 0; epoch < settings_.epochs; ++epoch) {
    shard.shuffle(epoch);
    double loss = 0;
    for (std::size_t i = 0; i < steps_per_epoch_; ++i) {
      const std::size_t step = epoch * steps_per_epoch_ + i;
      stages.start();
      loss += network_.backward(weights_, data_.train, shard.batch(i, batch_), gradient_);
      stages.stop("forward+backward");
      report = reducer.reduce(gradient_.parts());
      stages.add(report);
      stages.start();
      // A mask that prunes more and more has changed where it keeps less. Once weight and velocity
      // are zero they stay so, as their gradient is.
      if (report.kept != kept) {
        reducer.prune(weights_.parts());
        reducer.prune(velocity_.parts());
        kept = report.kept;
      }
      optimiser(weights_, gradient_, velocity_, rate(step));
      stages.stop("optimiser");
      payload += static_cast<double>(report.payload_bytes);
      sent += static_cast<double>(report.bytes_sent);
      progress.step(step + 1);
      if (i + 1 == steps_per_epoch_ / 2) note_accuracy(step + 1, sent, result);
    }
    const std::size_t done = (epoch + 1) * steps_per_epoch_;
    result.weights = compare_replicas(epoch);
    result.loss = mean(loss) / static_cast<double>(steps_per_epoch_);
    note_accuracy(done, sent, result);
    progress.epoch(epoch + 1, settings_.epochs, done, result.loss, result.accuracy);
  }
  progress.finish(result.accuracy);
  const auto steps = static_cast<double>(steps_);
  result.payload_per_step = mean(payload) / steps;
  result.bytes_per_step = mean(sent) / steps;
  result.payload_per_step_steady = mean(static_cast<double>(report.payload_bytes));
  result.bytes_per_step_steady = mean(static_cast<double>(report.bytes_sent));
  result.kept = static_cast<double>(report.kept) / static_cast<double>(weights_.values().size());
  for (const auto& [name, seconds] : stages.seconds()) {
    result.stages.emplace_back(name, mean(seconds) / steps);
    result.seconds_per_step += result.stages.back().second;
  }
  return result;
}

/// Each rank looks at its part of the test pictures, although all would find the same.
void Worker::note_accuracy(std::size_t step, double sent, Result& result) {
  const std::size_t all = data_.test.size();
  const std::size_t right =
      network_.correct(weights_, data_.test, all * rank_ / ranks_, all * (rank_ + 1) / ranks_);
  const std::vector<std::size_t> found = gather(backend_, right);
  result.accuracy =
      static_cast<double>(std::accumulate(found.begin(), found.end(), std::size_t{0})) /
      static_cast<double>(all);
  result.curve.push_back({step, result.accuracy, mean(sent)});
}

std::uint64_t Worker::compare_replicas(std::size_t epoch) {
  const std::uint64_t mine = fingerprint(weights_.values());
  const std::vector<std::uint64_t> all = gather(backend_, mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw std::runtime_error("after epoch " + std::to_string(epoch + 1) +
                               " the weights of rank " + std::to_string(rank) +
                               " differ from those of rank 0. That is an error in pactrain or "
                               "in this program; please report it with the options used.");
  return mine;
}

/// The mean over the ranks of a number that each measured for itself.
double Worker::mean(double mine) {
  const std::vector<double> all = gather(backend_, mine);
  return std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(ranks_);
}

}  // namespace demo

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/model.hpp>

#include <oracle.hpp>
#include <reliability/faults.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace pactrain::test {

/// What happens in a step: the same on all ranks and in every run of a seed.
struct Events {
  bool unusual = false;   ///< a non-finite value, or a stray, on one rank
  int culprit = 0;        ///< that rank
  std::size_t where = 0;  ///< that entry

  static Events of(std::uint64_t seed, Step step, int ranks, std::size_t entries) {
    const std::uint64_t draw = kernel::mix(seed, step);
    return {draw % 3 == 0, static_cast<int>(draw / 3 % static_cast<std::uint64_t>(ranks)),
            static_cast<std::size_t>(draw >> 16) % entries};
  }
};

/// A model that one reducer trains. Its gradients are a function of rank, step and weights, so that
/// every rank knows those of all.
class Job {
 public:
  virtual ~Job() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// The number of the next step.
  [[nodiscard]] virtual Step step() const = 0;
  /// Makes it. Throws what the reducer throws; what it must have left alone and did not is then in
  /// `complaints`.
  virtual void advance() = 0;
  virtual void save(std::ostream& out) = 0;
  virtual void load(std::istream& in) = 0;
  [[nodiscard]] virtual const std::vector<float>& weights() const = 0;
  /// Promises that were broken.
  [[nodiscard]] virtual const std::vector<std::string>& complaints() const = 0;
  /// Does the result follow from the gradients, by the oracle? Made with the oracle of the job, for
  /// a job that has not made a step; null where the codec loses something.
  [[nodiscard]] virtual std::unique_ptr<Oracle> oracle() const = 0;
  /// The gradient that `rank` adds in the next step.
  [[nodiscard]] virtual std::vector<float> gradient_of(int rank) const = 0;
  /// What the last step made of them, and what it kept.
  [[nodiscard]] virtual const std::vector<float>& result() const = 0;
  [[nodiscard]] virtual std::vector<bool> kept() = 0;
};

/// How a job is made.
struct JobMaker {
  std::string name;
  std::function<std::unique_ptr<Job>(FaultyBackend&, FaultPlan&, std::uint64_t seed)> make;
};
/// All jobs: every way over the ranks, and every kind of collective.
std::vector<JobMaker> shared_jobs();
std::vector<JobMaker> local_jobs();
std::vector<JobMaker> coded_jobs();
inline std::vector<JobMaker> all_jobs() {
  std::vector<JobMaker> all = shared_jobs();
  for (auto& more : {local_jobs(), coded_jobs()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace pactrain::test

// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Jobs of codecs that go their own way over the ranks, and of collectives by themselves.
#include <pactrain/broadcast.hpp>
#include <pactrain/compress/int4.hpp>
#include <pactrain/compress/int8.hpp>
#include <pactrain/core/collectives.hpp>
#include <pactrain/dense_all_reduce.hpp>
#include <pactrain/feedback/error_feedback.hpp>
#include <pactrain/low_rank_all_reduce.hpp>
#include <pactrain/scattered.hpp>
#include <pactrain/sketch_all_reduce.hpp>

#include <reliability/reducer_job.hpp>

namespace pactrain::test {

namespace {

using B = FaultyBackend;

/// A job of the blocking collectives, of every kind.
class CollectivesJob final : public Job {
 public:
  CollectivesJob(FaultyBackend& backend, FaultPlan& plan) : backend_(backend), plan_(plan) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] Step step() const override { return step_; }
  void advance() override {
    plan_.enter(name_, step_);
    auto& comm = backend_.communicator();
    auto& exec = backend_.executor();
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<float> x = weights_;
    x[0] += static_cast<float>(comm.rank());
    all_reduce(exec, comm, std::span(x), Mean{});
    std::vector<float> share(share_of(x.size(), comm.rank(), comm.size()).size());
    reduce_scatter(exec, comm, std::span<const float>(x), std::span(share), Mean{});
    std::vector<float> all(share.size() * ranks);
    all_gather(exec, comm, std::span<const float>(share), std::span(all));
    std::vector<std::size_t> counts(ranks, share.size());
    std::vector<float> exchanged(all.size());
    all_to_all(exec, comm, std::span<const float>(all), std::span<const std::size_t>(counts),
               std::span(exchanged), std::span<const std::size_t>(counts));
    const int root = static_cast<int>(step_ % ranks);
    pactrain::broadcast(backend_, all, root);
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = 0.5f * all[i] + 1.0f;
    ++step_;
  }
  void save(std::ostream& out) override {
    out.write(reinterpret_cast<const char*>(&step_), sizeof step_);
    out.write(reinterpret_cast<const char*>(weights_.data()),
              static_cast<std::streamsize>(weights_.size() * sizeof(float)));
  }
  void load(std::istream& in) override {
    in.read(reinterpret_cast<char*>(&step_), sizeof step_);
    in.read(reinterpret_cast<char*>(weights_.data()),
            static_cast<std::streamsize>(weights_.size() * sizeof(float)));
  }
  [[nodiscard]] const std::vector<float>& weights() const override { return weights_; }
  [[nodiscard]] const std::vector<std::string>& complaints() const override { return none_; }
  [[nodiscard]] std::unique_ptr<Oracle> oracle() const override { return nullptr; }
  [[nodiscard]] std::vector<float> gradient_of(int) const override { return {}; }
  [[nodiscard]] const std::vector<float>& result() const override { return weights_; }
  [[nodiscard]] std::vector<bool> kept() override { return {}; }

 private:
  FaultyBackend& backend_;
  FaultPlan& plan_;
  std::string name_ = "collectives";
  Step step_ = 0;
  std::vector<float> weights_ = std::vector<float>(12 * 48, 0.25f);
  std::vector<std::string> none_;
};

}  // namespace

std::vector<JobMaker> coded_jobs() {
  using Bytes = DenseAllReduce<B, Int8>;
  using Shares = DenseAllReduce<B, Scattered<Int4>, ErrorFeedback>;
  using Factors = LowRankAllReduce<B>;
  using Sketches = SketchAllReduce<B>;
  return {
      {"collectives",
       [](B& backend, FaultPlan& plan, std::uint64_t) {
         return std::make_unique<CollectivesJob>(backend, plan);
       }},
      reducer_job<Bytes>("int8 propagating", {.non_finite = NonFinite::propagate},
                         [](B& backend, const auto&, const ReduceOptions& options) {
                           return Bytes(backend, {}, {}, {}, options);
                         }),
      reducer_job<Shares>("scattered int4", {},
                          [](B& backend, const auto&, const ReduceOptions& options) {
                            return Shares(backend, {}, {}, {}, options);
                          }),
      reducer_job<Factors>("low rank", {},
                           [](B& backend, const auto&, const ReduceOptions& options) {
                             return Factors(backend, {}, options);
                           }),
      reducer_job<Sketches>("sketch", {.period = 16},
                            [](B& backend, const auto&, const ReduceOptions& options) {
                              return Sketches(backend, {}, options);
                            }),
  };
}

}  // namespace pactrain::test

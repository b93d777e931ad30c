// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "network.hpp"
#include "settings.hpp"
#include "team.hpp"

#include <pactrain/pactrain.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace demo {

using Slices = std::vector<pactrain::Slice<float>>;

/// A reducer whose type the training loop need not know.
class Reducer {
 public:
  virtual ~Reducer() = default;
  /// The gradient of a part is complete, and is left alone until `reduce`: one that overlaps starts
  /// with it.
  virtual void ready(std::size_t) {}
  virtual pactrain::Report reduce(const Slices& gradient) = 0;
  /// Sets to zero what its policy prunes; what waits for another step is not pruned.
  virtual void prune(const Slices& values) = 0;
  /// What its policy reads stays as long as it.
  void hold(std::shared_ptr<void> what) { held_ = std::move(what); }

 private:
  std::shared_ptr<void> held_;
};

/// What a reducer is made for.
struct Task {
  Backend& backend;
  Network& network;
  const Run& run;
  const Recipe& recipe;
  std::size_t steps;
  const Parameters& weights;
  const Parameters& gradient;
};

/// A system of the literature, or pactrain's own, by the name that the command line knows.
struct Compressor {
  std::string name;
  std::string about;  // one line
  std::unique_ptr<Reducer> (*make)(const Task& task);
  double rate = 0;       // the highest learning rate, where it is not the dense run's
  double momentum = -1;  // the optimiser's, where it is not the recipe's
};

/// All there are, and one of them. The latter throws std::runtime_error.
const std::vector<Compressor>& compressors();
const Compressor& compressor(const std::string& name);

/// By family, each in a file of its own: what a pipeline is made of takes a while to compile.
std::vector<Compressor> coded_compressors();
std::vector<Compressor> dense_compressors();
std::vector<Compressor> overlapped_compressors();
std::vector<Compressor> pruned_compressors();
std::vector<Compressor> scored_compressors();
std::vector<Compressor> sparse_compressors();
std::vector<Compressor> selected_compressors();

template <class R>
class ReducerOf : public Reducer {
 public:
  template <class... Arguments>
  explicit ReducerOf(Backend& backend, Arguments&&... arguments)
      : reduce_{backend, std::forward<Arguments>(arguments)...} {}

  pactrain::Report reduce(const Slices& gradient) override { return reduce_(gradient); }
  void prune(const Slices& values) override {
    if constexpr (requires { requires R::policy_type::unkept == pactrain::Unkept::dropped; }) {
      reduce_.mask().apply(values);
    }
  }

 protected:
  R reduce_;
};

/// An owner of an `R` that was made of these arguments.
template <class R, class... Arguments>
std::unique_ptr<Reducer> reducer(const Task& task, Arguments&&... arguments) {
  return std::make_unique<ReducerOf<R>>(task.backend, std::forward<Arguments>(arguments)...);
}

}  // namespace demo

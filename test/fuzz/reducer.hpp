// SPDX-FileCopyrightText: 2026 The pactrain authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <pactrain/core/error.hpp>
#include <pactrain/core/slices.hpp>
#include <pactrain/kernel/bits.hpp>

#include <fuzz/replay.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <sstream>
#include <string>
#include <vector>

/// A reducer whose peers send damaged bytes: it refuses them and has changed nothing, or makes
/// something of them, within bounds.
namespace pactrain::test {

class FuzzedModel {
 public:
  static constexpr std::size_t rows = 8, columns = 12, tail = 41, entries = rows * columns + tail;

  explicit FuzzedModel(int rank) : rank_(rank) { step(0); }
  /// The gradient of a step: a third of it zeros.
  void step(int number) {
    for (std::size_t i = 0; i < entries; ++i) {
      const std::uint64_t x = kernel::mix(i, static_cast<std::uint64_t>(10 * number + rank_));
      values[i] = x % 3 == 0 ? 0.0f : static_cast<float>(x >> 40) * 0x1p-23f - 1.0f;
    }
  }
  std::vector<Slice<float>> slices() {
    const std::span<float> all(values);
    return {{"matrix", all.first(rows * columns), rows}, {"tail", all.last(tail)}};
  }

  std::vector<float> values = std::vector<float>(entries);

 private:
  int rank_;
};

template <class R>
std::string state_of(R& reduce) {
  std::ostringstream out;
  reduce.save(out);
  return out.str();
}

/// Two steps of `make(backend, weights)`, of which the others' part comes from a run before, with
/// the damage that the input says.
template <class Make>
void fuzz_reducer(FuzzInput& input, Make make) {
  constexpr int rank = 1, steps = 2;
  static const std::vector<float> weights = FuzzedModel(7).values;
  static const Tape tape = recorded(rank, [&](ReplayBackend& backend) {
    FuzzedModel model(backend.communicator().rank());
    auto reduce = make(backend, weights);
    for (int step = 0; step < steps; ++step) {
      model.step(step);
      reduce(model.slices());
    }
  });
  const Damages damages = Damages::from(input);
  ReplayBackend backend{HostExecutor{}, ReplayCommunicator(rank, 3, tape, damages)};
  FuzzedModel model(rank);
  auto reduce = make(backend, weights);
  for (int step = 0; step < steps; ++step) {
    model.step(step);
    const std::vector<float> given = model.values;
    const std::string before = state_of(reduce);
    try {
      reduce(model.slices());
    } catch (const Error&) {
      must(std::memcmp(model.values.data(), given.data(), sizeof(float) * given.size()) == 0,
           "a refused call leaves the gradient alone");
      must(state_of(reduce) == before, "and the state");
      return;
    }
  }
}

}  // namespace pactrain::test
